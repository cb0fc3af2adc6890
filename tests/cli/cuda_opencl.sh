# The programs of tests/cuda on OpenCL: the same answers, or a refusal with the code that the program tells.
. tests/check.sh
if "${INGOT:-build/ingot}" devices 2>/dev/null | grep -q '^opencl:0'; then
    IG_TEST_DEVICES=opencl exec bash tests/cli/cuda_programs.sh "$@"
fi
skip 'CUDA programs on OpenCL' 'there is no OpenCL device'
finish
