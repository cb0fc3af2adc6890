"""NumPy's functions whose arguments an op has, too.

A row is NumPy's name, after a colon the name here if it differs, the arguments that are passed on in order, and after | those that
are passed on by name (NumPy's name>the name here, ? after those that may be None)."""

ROWS = """
allclose a b | rtol atol equal_nan
append arr values | axis
argmax a | axis keepdims
argmin a | axis keepdims
argwhere a
array_equal a1 a2 | equal_nan
array_equiv a1 a2
bincount x | weights minlength
broadcast_to array shape
choose a choices | mode
column_stack tup
compress condition a | axis
convolve a v | mode
corrcoef x | y rowvar
correlate a v | mode
count_nonzero a | axis keepdims
cov m | y rowvar bias ddof fweights aweights
cross a b | axis
delete arr obj | axis
diag v | k
diag_indices_from arr
diagflat v | k
digitize x bins | right
dot a b
dstack tup
ediff1d ary | to_end to_begin
expand_dims a axis
extract condition arr
fix x
flatnonzero a
flip m | axis
fliplr m
flipud m
geomspace start stop | num endpoint dtype
histogram a | bins range density weights
histogram2d x y | bins range density weights
histogram_bin_edges a | bins range weights
i0 x
imag val
inner a b
insert arr obj values | axis
interp x xp fp | left right period
intersect1d ar1 ar2 | assume_unique return_indices
isclose a b | rtol atol equal_nan
iscomplex x
iscomplexobj x
isin element test_elements | invert
isneginf x
isposinf x
isreal x
isrealobj x
kron a b
lexsort keys | axis
logspace start stop | num endpoint base dtype
matrix_transpose x
moveaxis a source destination
nanargmax a | axis keepdims
nanargmin a | axis keepdims
nancumprod a | axis dtype
nancumsum a | axis dtype
nanmax a | axis keepdims
nanmin a | axis keepdims
nanprod a | axis dtype keepdims
nansum a | axis dtype keepdims
nonzero a
median a | axis keepdims
nanmedian a | axis keepdims
quantile a q | axis method keepdims weights
percentile a q | axis method keepdims weights
nanquantile a q | axis method keepdims weights
nanpercentile a q | axis method keepdims weights
packbits a | axis bitorder
partition a kth | axis?
argpartition a kth | axis?
poly seq_of_zeros
polyadd a1 a2
polyder p | m
polydiv u v
polyfit x y deg | rcond w
polyint p | m k
polymul a1 a2
polysub a1 a2
polyval p x
ptp a | axis keepdims
average a | axis weights keepdims
real val
repeat a repeats | axis
resize a new_shape
roll a shift | axis
rollaxis a axis | start
roots p
rot90 m | k axes
searchsorted a v | side sorter
select condlist choicelist | default
setdiff1d ar1 ar2 | assume_unique
setxor1d ar1 ar2 | assume_unique
sinc x
sort_complex a
squeeze a | axis
swapaxes a axis1 axis2
take_along_axis arr indices | axis
tensordot a b | axes
tile A reps
trapezoid y | x dx axis
tril m | k
tril_indices_from arr | k
trim_zeros filt | trim
triu m | k
triu_indices_from arr | k
union1d ar1 ar2
unique ar | return_index return_inverse return_counts axis equal_nan
unique_all x
unique_counts x
unique_inverse x
unique_values x
unpackbits a | axis count bitorder
unstack x | axis
unwrap p | discont axis period
vander x | N increasing
vdot a b
linalg.cholesky a | upper
linalg.cond x | p
linalg.cross x1 x2 | axis
linalg.det a
linalg.diagonal x | offset
linalg.eig a
linalg.eigh a | UPLO
linalg.eigvals a
linalg.eigvalsh a | UPLO
linalg.inv a
linalg.matmul x1 x2
linalg.matrix_norm x | keepdims ord
linalg.matrix_power a n
linalg.matrix_rank A | tol rtol
linalg.matrix_transpose x
linalg.multi_dot arrays
linalg.norm x | ord axis keepdims
linalg.outer x1 x2
linalg.pinv a | rtol
linalg.slogdet a
linalg.solve a b
linalg.svd a | full_matrices compute_uv
linalg.svdvals x
linalg.tensordot x1 x2 | axes
linalg.tensorinv a | ind
linalg.tensorsolve a b | axes
linalg.trace x | offset dtype
linalg.vecdot x1 x2 | axis
linalg.vector_norm x | axis keepdims ord
fft.fft a | n axis norm
fft.ifft a | n axis norm
fft.rfft a | n axis norm
fft.irfft a | n axis norm
fft.hfft a | n axis norm
fft.ihfft a | n axis norm
fft.fft2 a | s axes norm
fft.ifft2 a | s axes norm
fft.rfft2 a | s axes norm
fft.irfft2 a | s axes norm
fft.fftn a | s axes norm
fft.ifftn a | s axes norm
fft.rfftn a | s axes norm
fft.irfftn a | s axes norm
fft.fftshift x | axes
fft.ifftshift x | axes
"""
