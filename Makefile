# Ingot is built by GNU make alone; there is no configure step.
#
#   make                                the command and both libraries, into build/
#   make CC=clang                       into build-clang/
#   make CROSS=x86_64-linux-gnu-        for another processor, into build-x86_64/
#   make SAN=address,undefined          with sanitizers, into build-asan/ (SAN=thread: build-tsan/)
#   make COVERAGE=1                     counting lines, into build-coverage/
#   make DEBUG=-g                       with debug information for variables
#   make BUILD=dir                      into a directory of your choice
#   make help                           all targets
#
# A changed compiler or flag rebuilds the objects that depend on it. New source files are found by their folder.

comma := ,
empty :=
space := $(empty) $(empty)

# The version is in include/ingot/base.h only.
version := $(shell sed -n 's/^.define IG_VERSION_[A-Z]* *//p' include/ingot/base.h)
PUBLIC  := include/ingot.h $(sort $(wildcard include/ingot/*.h))
VERSION := $(subst $(space),.,$(version))
ABI     := $(firstword $(version))

# ---- compiler, target and build folder ---------------------------------------------------------

ifeq ($(origin CC),default)
  CC := $(if $(CROSS),$(CROSS)gcc,cc)
endif
ifeq ($(origin AR),default)
  AR := $(CROSS)ar
endif
ifeq ($(origin LD),default)
  LD := $(CROSS)ld
endif
OBJCOPY ?= $(CROSS)objcopy

is_clang := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
ifneq ($(and $(is_clang),$(CROSS)),)
  TARGET_FLAGS := --target=$(CROSS:-=)
endif

machine := $(shell $(CC) $(TARGET_FLAGS) -dumpmachine 2>/dev/null)
ARCH    := $(patsubst arm64,aarch64,$(patsubst amd64,x86_64,$(firstword $(subst -, ,$(machine)))))
MACOS   := $(or $(findstring darwin,$(machine)),$(findstring macos,$(machine)))

# One job for each core; `make JOBS=1` for one job.
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
ifeq ($(MAKELEVEL),0)
  MAKEFLAGS += -j$(JOBS)
endif

variant := $(if $(CROSS),-$(ARCH))
compiler := $(filter-out cc gcc $(CROSS)gcc,$(notdir $(CC)))
variant := $(variant)$(if $(compiler),-$(subst $(space),,$(compiler)))
variant := $(variant)$(if $(FUZZ),-fuzz,$(if $(findstring address,$(SAN)),-asan,$(if \
             $(findstring thread,$(SAN)),-tsan,$(if $(SAN),-ubsan))))
variant := $(variant)$(if $(COVERAGE),-coverage)
BUILD ?= build$(variant)

# ---- flags -------------------------------------------------------------------------------------

# On a Mac warnings are not errors: nobody has tried all versions of Apple's compiler and headers.
WARNINGS := -Wall -Wextra $(if $(MACOS),$(if $(CROSS),-Werror),-Werror) -Wshadow -Wstrict-prototypes \
            -Wmissing-prototypes -Wpointer-arith -Wvla
# IEEE 754 as written: the compiler never makes an fma of a multiplication and an addition.
# Integer overflow wraps.
FLOATS   := -fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv
# Line numbers for backtraces. DEBUG=-g adds variables for a debugger, and half as much compile time again.
DEBUG    ?= -g1
OPTIMIZE := -O2
LANES_OPTIMIZE := -O3
# Loops over elements. -O3 would also unroll the remainder of each loop, which doubles their size.
MAPS_OPTIMIZE := -O2 $(if $(is_clang),,-ftree-vectorize -fvect-cost-model=dynamic)
# The same, with short inner loops unrolled: the steps of matrix factorizations.
STEPS_OPTIMIZE := $(MAPS_OPTIMIZE) $(if $(is_clang),,-fpeel-loops)
# Loops that memory limits: their remainders are scalar.
PLAIN_OPTIMIZE := $(MAPS_OPTIMIZE) $(if $(is_clang),,--param vect-epilogues-nomask=0)
CLI_OPTIMIZE := -Os
SMALL_OPTIMIZE = $(if $(SAN_FLAGS),$(or $(SAN_OPTIMIZE),-O1),-Os)
SMALL := $(addsuffix /%,compiler/parse compiler/print compiler/native engine/emit engine/verify lib/cudart lib/io lib/machine lib/onnx) engine/ops/api
TEST_OPTIMIZE := -O1
DEFINES  := -D_GNU_SOURCE= $(if $(filter -g -g2 -g3,$(DEBUG)),-DCHECK_SCHEDULES)
HIDDEN   := -fPIC -fvisibility=hidden

ifneq ($(FUZZ),)
  SAN ?= address,undefined
  # libFuzzer gets coverage of parsers and of all else, but not of the lane loops.
  STEER := -fsanitize=fuzzer-no-link
endif
ifneq ($(SAN),)
  # Of the command, code that runs once, and factorizations: clang compiles them with -O0 in a quarter of the time.
  SAN_OPTIMIZE ?= -O1
  OPTIMIZE := -O1
  LANES_OPTIMIZE := -O1
  MAPS_OPTIMIZE := -O1
  PLAIN_OPTIMIZE := -O1
  STEPS_OPTIMIZE := $(SAN_OPTIMIZE)
  CLI_OPTIMIZE := $(SAN_OPTIMIZE)
  # clang checks the types of functions at indirect calls, too; those of libraries (dlsym) have other names for their types.
  # TRAP=1: undefined behaviour ends the program without a message, only with the stack. That compiles in two thirds of the time.
  SAN_FLAGS += -fsanitize=$(SAN) $(if $(is_clang),-fno-sanitize=function $(if $(TRAP),-fsanitize-trap=undefined)) -fno-omit-frame-pointer -fno-sanitize-recover=all -DORDERLY_END -DCHECK_SCHEDULES
  # With sanitizers gcc warns about variables that are initialized.
  WARNINGS += $(if $(is_clang),,-Wno-maybe-uninitialized)
endif
ifneq ($(COVERAGE),)
  OPTIMIZE := -O1
  LANES_OPTIMIZE := -O1
  MAPS_OPTIMIZE := -O1
  PLAIN_OPTIMIZE := -O1
  STEPS_OPTIMIZE := -O1
  SAN_FLAGS += --coverage -fprofile-update=atomic $(if $(is_clang),,-fprofile-abs-path) -DORDERLY_END
endif

# Nothing unwinds the stack, except debuggers and sanitizers, which have their own tables.
TABLES  := $(if $(SAN_FLAGS)$(MACOS),,-fno-asynchronous-unwind-tables)
COMMON  := -std=gnu11 $(DEBUG) $(TABLES) $(TARGET_FLAGS) $(WARNINGS) $(FLOATS) $(SAN_FLAGS) -pthread
LIBRARY := $(COMMON) $(HIDDEN) $(DEFINES) -Iinclude -Isrc -I. -I$(BUILD)/gen
TESTING := $(COMMON) $(DEFINES) -Iinclude -Isrc -Icli -I. -Itests -I$(BUILD)/gen
LINK    := $(TARGET_FLAGS) $(SAN_FLAGS) -pthread
LDLIBS  := $(if $(MACOS),,-lm -lpthread -ldl)

# ---- CPU levels: src/engine/backend/cpu/lanes is built once for each ----------------------------------

# There is no SVE level: no machine at hand lets a program use SVE, and the two 256-bit pipes of Neoverse V1 are as
# wide as its four NEON pipes. VDPBF16PS (AVX-512) is not used: on the Xeon where it was measured it was a third
# slower than widening to f32.
LEVELS_aarch64 := neon dot bf16
LEVELS_x86_64  := sse2 avx2 avxvnni avx512 vnni $(if $(MACOS),,amx)
LEVELS := $(or $(LEVELS_$(ARCH)),generic)

# Processors without AVX2 are older than 2013: their loops are compiled for size, and have the same results.
LEVEL_FLAGS_sse2   := $(if $(SAN_FLAGS),,-Os -fno-tree-vectorize)
LEVEL_FLAGS_avx2   := -mavx2 -mfma -mf16c
LEVEL_FLAGS_avx512 := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c \
                      -mprefer-vector-width=512
LEVEL_FLAGS_avx512 += -DPLAIN_LEVEL=avx2
LEVEL_FLAGS_avxvnni := $(LEVEL_FLAGS_avx2) -mavxvnni
LEVEL_FLAGS_vnni   := $(LEVEL_FLAGS_avx512) -mavx512vnni
LEVEL_FLAGS_amx    := $(LEVEL_FLAGS_vnni) -mamx-tile -mamx-bf16 -mamx-int8
LEVEL_FLAGS_dot    := -march=armv8.2-a+dotprod
LEVEL_FLAGS_bf16   := -march=armv8.2-a+dotprod+bf16+i8mm

# A level on a base only adds kernels for some products (lanes/gemm.c, lanes/quant.c). The machine must have the features
# that it needs, named as in machine_get()->isa.
LEVEL_BASE_dot   := neon
LEVEL_NEEDS_dot  := dotprod
LEVEL_BASE_bf16  := neon
LEVEL_NEEDS_bf16 := dotprod bf16 i8mm
LEVEL_BASE_avxvnni  := avx2
LEVEL_NEEDS_avxvnni := avxvnni
LEVEL_BASE_vnni  := avx512
LEVEL_NEEDS_vnni := avx512vnni
LEVEL_BASE_amx   := avx512
LEVEL_NEEDS_amx  := avx512vnni amx-tile amx-bf16 amx-int8

# A level takes the loops that memory limits from its plain level.
PLAIN_LANES := convert fold_int keys map_int scan series simt
LEVEL_PLAIN_avx512 := avx2
STEP_LANES := factor spectral_f32 spectral_f64 spectral_c64 spectral_c128

# ---- sources -----------------------------------------------------------------------------------

FOLDERS := base \
           compiler $(addprefix compiler/,pp parse lower print native) \
           $(addprefix engine/,array ops program graph graph/rewrite emit module eval blocks custom loops numeric verify top backend) \
           $(addprefix engine/backend/,null opencl cuda metal cpu) \
           $(addprefix engine/backend/cpu/,tape elements reduce sort contract index kernels gang native vmath) \
           $(addprefix lib/,machine io store nn text model chat grammar decoder serve onnx onnx/ops onnx/export cudart cudart/gpu)
SOURCES := $(sort $(wildcard $(FOLDERS:%=src/%/*.c)))
LANES   := $(sort $(wildcard src/engine/backend/cpu/lanes/*.c))
CLI     := $(sort $(wildcard cli/*.c cli/*/*.c))

OBJECTS     := $(SOURCES:%.c=$(BUILD)/obj/%.o)
LANES_OF = $(if $(LEVEL_BASE_$1),$(filter %/gemm.c %/quant.c,$(LANES)),$(filter-out \
             $(if $(LEVEL_PLAIN_$1),$(PLAIN_LANES:%=\%/%.c)),$(LANES)))
LANE_OBJECTS := $(foreach level,$(LEVELS),$(patsubst %.c,$(BUILD)/obj/%.$(level).o,$(call LANES_OF,$(level))))
CLI_OBJECTS := $(CLI:%.c=$(BUILD)/obj/%.o)

# ---- where things are installed ----------------------------------------------------------------

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include

# ---- names of the shared library ---------------------------------------------------------------

ifneq ($(MACOS),)
  SHARED      := libingot.$(ABI).dylib
  SHARED_DEV  := libingot.dylib
  EXPORTS      = $(BUILD)/gen/exports.list
  SHARED_LINK  = -dynamiclib -install_name $(LIBDIR)/$(SHARED) -compatibility_version 1 \
                 -current_version $(VERSION) -Wl,-exported_symbols_list,$(EXPORTS)
else
  SHARED      := libingot.so.$(ABI)
  SHARED_DEV  := libingot.so
  EXPORTS      = $(BUILD)/gen/exports.map
  SHARED_LINK  = -shared -Wl,-soname,$(SHARED) -Wl,--version-script,$(EXPORTS) \
                 $(if $(SAN_FLAGS),,-Wl,-z,defs)
endif

# ---- targets -----------------------------------------------------------------------------------

.PHONY: all macos macos-python metal-tests run test test-full check check-clang check-sources check-macos tests tests-fuzz fuzz coverage bench examples docs install uninstall python wheel portable deb dist array-api-tests \
        format check-format clean help FORCE
.DELETE_ON_ERROR:
.SUFFIXES:

all: $(BUILD)/ingot $(BUILD)/libingot.a $(BUILD)/$(SHARED_DEV)

FORCE:

# keep,FILE,TEXT: a recipe that writes TEXT into FILE only if FILE has another text.
define keep
@mkdir -p $(dir $1); new=$1.$$$$; printf '%s\n' $2 > $$new; \
if cmp -s $$new $1; then rm -f $$new; else mv -f $$new $1; fi
endef
quote = '$(subst ','\'',$1)'

$(BUILD)/gen/flags: FORCE
	$(call keep,$@,$(call quote,$(flags_text)))
$(BUILD)/gen/link: FORCE
	$(call keep,$@,$(call quote,$(link_text)))
# The rows of this build's CPU levels, lowest first: LEVEL(name), or LEVEL_ON(name, base, needs).
level_row = $(if $(LEVEL_BASE_$1),'LEVEL_ON($1, $(LEVEL_BASE_$1), "$(LEVEL_NEEDS_$1)")','LEVEL($1)')
$(BUILD)/gen/levels.h: FORCE
	$(call keep,$@,'#ifndef LEVEL_ON' '#define LEVEL_ON(name, base, needs)' '#endif' \
	    $(foreach level,$(LEVELS),$(call level_row,$(level))))
# The typed functions of the ops; see tools/op-functions.
OP_TABLE := $(shell sed -n 's/^\#include "\(.*rows.*\)"/src\/\1/p' src/engine/ops/core.def src/engine/ops/composite.def)
$(BUILD)/gen/op_functions.inc: $(OP_TABLE) tools/op-functions include/ingot/op_functions.h
	@mkdir -p $(@D)
	@awk -v header=1 -f tools/op-functions $(OP_TABLE) | cmp -s - include/ingot/op_functions.h || \
	    { echo 'include/ingot/op_functions.h is not what src/engine/ops/rows says: run make docs'; exit 1; }
	@awk -f tools/op-functions $(OP_TABLE) > $@
$(BUILD)/obj/src/engine/ops/api.o: $(BUILD)/gen/op_functions.inc
# Embedded files, compressed (base/packed.h). The backends of CUDA and OpenCL embed the other files of kernels/.
PACKED_kernels := $(filter-out $(addprefix kernels/,attention% hopper.cuh mma_product.cu pack.cu result.cuh tensor_product.cu),\
    $(sort $(wildcard kernels/*.cuh kernels/*.cu)))
PACKED_digits := data/digits/images.idx data/digits/labels.idx
define PACKED_RULE
$(BUILD)/gen/$1.inc: $(PACKED_$1) tools/pack-files
	@mkdir -p $$(@D)
	@tools/pack-files $1 $(PACKED_$1) > $$@.part && mv -f $$@.part $$@
endef
$(foreach files,kernels digits,$(eval $(call PACKED_RULE,$(files))))
$(BUILD)/obj/src/engine/emit/library.o: $(BUILD)/gen/kernels.inc
$(BUILD)/obj/cli/train/digits.o: $(BUILD)/gen/digits.inc
$(BUILD)/gen/exports.map: FORCE
	$(call keep,$@,'INGOT_$(ABI) { global: ig_*; local: *; };')
$(BUILD)/gen/exports.list: FORCE
	$(call keep,$@,'_ig_*')

GENERATED := $(BUILD)/gen/flags $(BUILD)/gen/levels.h

say = @printf '  %-5s %s\n' $1 '$(patsubst $(BUILD)/%,%,$2)';

link = $(CC) $(LINK) $(LDFLAGS) -o $@

$(BUILD)/obj/src/%.o: src/%.c $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(LIBRARY) $(STEER) $(OPTIMIZE) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Code that runs once for a kernel's text, a program or a check.
$(SMALL:%=$(BUILD)/obj/src/%.o): override OPTIMIZE := $(SMALL_OPTIMIZE)
ifneq ($(SAN_FLAGS),)
ONCE := $(addsuffix /%,engine/backend/cuda engine/backend/metal engine/backend/opencl lib/model lib/nn lib/store lib/text)
$(ONCE:%=$(BUILD)/obj/src/%.o): OPTIMIZE := $(SAN_OPTIMIZE)
# Tests of kernels run these for long, and without optimization a text of the greatest depth needs more stack than there is.
$(addprefix $(BUILD)/obj/src/compiler/,parse/%.o print/%.o native/%.o): override OPTIMIZE := -O1
endif

define LANE_RULE
$(BUILD)/obj/src/engine/backend/cpu/lanes/%.$1.o: src/engine/backend/cpu/lanes/%.c $(GENERATED)
	@mkdir -p $$(@D)
	$$(call say,CC,$$< [$1]) $$(CC) $$(LIBRARY) $$(LANES_OPTIMIZE) $(LEVEL_FLAGS_$1) -DLEVEL=$1 -DON_BASE=$(if $(LEVEL_BASE_$1),1,0) \
	    $$(CPPFLAGS) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach level,$(LEVELS),$(eval $(call LANE_RULE,$(level))))
# The loops of random bits wait for multiplications. Scheduled for a wide core they take a sixth less time there.
$(BUILD)/obj/src/engine/backend/cpu/lanes/bits.neon.o: LANES_OPTIMIZE += $(if $(is_clang),,-mtune=neoverse-v1)

lane_files = $(foreach level,$(LEVELS),$(foreach f,$1,$(BUILD)/obj/src/engine/backend/cpu/lanes/$f.$(level).o))
$(call lane_files,map_float): LANES_OPTIMIZE := $(MAPS_OPTIMIZE)
$(call lane_files,$(filter-out keys scan series,$(PLAIN_LANES))): LANES_OPTIMIZE := $(PLAIN_OPTIMIZE)
$(call lane_files,$(STEP_LANES) $(if $(SAN_FLAGS),fft gemm)): LANES_OPTIMIZE := $(STEPS_OPTIMIZE)

# The command and some tests with lane loops that clang compiled, and with all other objects of this build: the
# tests' stage clang. Compilers differ most in vector code. CLANG_FILES, CLANG_LEVELS: the loops that clang compiles.
CLANG ?= clang
CLANG_FILES ?= %
CLANG_LEVELS ?= $(LEVELS)
BY_CLANG := $(foreach level,$(CLANG_LEVELS),$(CLANG_FILES:%=$(BUILD)/obj/src/engine/backend/cpu/lanes/%.$(level).o))
CLANG_LANES := $(foreach o,$(LANE_OBJECTS),$(if $(filter $(BY_CLANG),$o),$(o:$(BUILD)/obj/%=$(BUILD)/clang/obj/%),$o))
define CLANG_LANE_RULE
$(BUILD)/clang/obj/src/engine/backend/cpu/lanes/%.$1.o: src/engine/backend/cpu/lanes/%.c $(GENERATED)
	@mkdir -p $$(@D)
	$$(call say,CLANG,$$< [$1]) $$(CLANG) $$(LIBRARY) $$(LANES_OPTIMIZE) $(LEVEL_FLAGS_$1) -DLEVEL=$1 -DON_BASE=$(if $(LEVEL_BASE_$1),1,0) \
	    $$(CPPFLAGS) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach level,$(LEVELS),$(eval $(call CLANG_LANE_RULE,$(level))))

$(BUILD)/clang/ingot: $(CLANG_LANES) $(OBJECTS) $(CLI_OBJECTS)
	$(call say,LINK,$@) $(link) $^ $(CLI_LIBS) $(LDLIBS)

# All objects, internal names included. The tests link with it.
$(BUILD)/obj/libinternal.a: $(LANE_OBJECTS) $(OBJECTS) $(BUILD)/gen/link
	@mkdir -p $(@D); rm -f $@
	$(call say,AR,$@) $(AR) rcs $@ $(OBJECTS) $(LANE_OBJECTS)

# The static library for users. Internal names are made local (not on macOS), so that a program may have
# functions of the same names.
ifneq ($(MACOS),)
$(BUILD)/libingot.a: $(BUILD)/obj/libinternal.a
	@cp $< $@
else
$(BUILD)/libingot.a: $(BUILD)/obj/libinternal.a
	@rm -f $@
	$(call say,AR,$@) $(LD) -r -o $(BUILD)/obj/ingot.o $(OBJECTS) $(LANE_OBJECTS) && \
	    $(OBJCOPY) --localize-hidden $(BUILD)/obj/ingot.o && $(AR) rcs $@ $(BUILD)/obj/ingot.o
endif

$(BUILD)/$(SHARED): $(OBJECTS) $(LANE_OBJECTS) $(BUILD)/gen/link $(EXPORTS)
	$(call say,LINK,$@) $(link) $(SHARED_LINK) $(OBJECTS) $(LANE_OBJECTS) $(LDLIBS)

$(BUILD)/$(SHARED_DEV): $(BUILD)/$(SHARED)
	@ln -sf $(SHARED) $@

# The module for many machines, which the library loads under mpirun. Only it needs MPI: Open MPI or MPICH. MPICC= builds
# without it.
ifeq ($(origin MPICC),undefined)
  MPICC := $(if $(CROSS)$(FUZZ),,$(shell command -v mpicc 2>/dev/null))
endif
# Where both are installed, there is a module for each.
MPICC_MPICH ?= $(if $(findstring mpich,$(realpath $(MPICC))),,$(if $(MPICC),$(shell command -v mpicc.mpich 2>/dev/null)))
TEAM  := $(if $(MPICC),libingot-mpi.$(if $(MACOS),dylib,so))
MPICH := $(if $(MPICC_MPICH),libingot-mpich.$(if $(MACOS),dylib,so))
$(BUILD)/$(MPICH): MPICC := $(MPICC_MPICH)
all: $(TEAM:%=$(BUILD)/%) $(MPICH:%=$(BUILD)/%)
ifneq ($(TEAM),)
$(BUILD)/$(TEAM) $(MPICH:%=$(BUILD)/%): src/lib/mpi/mpi.c src/lib/mpi/watch.c $(GENERATED)
	@mkdir -p $(BUILD)/obj/src/lib/mpi
	$(call say,LINK,$@) OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC) $(LIBRARY) $(OPTIMIZE) $(CPPFLAGS) $(CFLAGS) -shared \
	    -MMD -MP -MF $(BUILD)/obj/src/lib/mpi/$(@F).d $(LINK) $(LDFLAGS) -o $@ $(filter %.c,$^) $(LDLIBS)
endif

# ---- the command -------------------------------------------------------------------------------

# A line editor for the prompt: libedit (BSD license) if there is one, else readline. readline makes the command,
# not the library, a GPL work, so the build says so. EDITOR_LIBRARY= builds without one.
EDITOR_LIBRARY ?= $(if $(CROSS),,$(shell for e in libedit readline; do \
            pkg-config --exists $$e 2>/dev/null && { echo $$e; break; }; done))
editor := $(EDITOR_LIBRARY)
readline_note := note: ingot links GNU readline, so this binary is under GPL 3; libedit (tools/setup) avoids that
ifneq ($(editor),)
  CLI_DEFINES := $(if $(filter libedit,$(editor)),-DHAVE_LIBEDIT,-DHAVE_READLINE) \
                 $(shell pkg-config --cflags $(editor))
  CLI_LIBS    := $(shell pkg-config --libs $(editor))
endif

$(BUILD)/obj/cli/%.o: cli/%.c $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(COMMON) $(HIDDEN) $(DEFINES) -Iinclude -Isrc -Icli -I$(BUILD)/gen $(CLI_DEFINES) $(STEER) $(CLI_OPTIMIZE) \
	    $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# These objects contain files (base/embed.h).
$(BUILD)/obj/src/engine/backend/opencl/build.o: kernels/opencl.cl
$(BUILD)/obj/src/compiler/parse/library.o: $(wildcard src/compiler/library/*.cu)
$(BUILD)/obj/src/compiler/pp/headers.o: $(wildcard src/compiler/library/*.h)
$(BUILD)/obj/src/compiler/native/print.o: src/compiler/native/prelude.h src/compiler/native/block.h
$(BUILD)/obj/src/engine/backend/cuda/native.o: kernels/hopper.cuh src/engine/backend/cuda/arguments.h
$(BUILD)/obj/src/engine/backend/cuda/tensor.o: kernels/tensor_product.cu kernels/mma_product.cu kernels/pack.cu kernels/result.cuh
$(BUILD)/obj/src/engine/backend/cuda/attention.o: $(wildcard kernels/attention*)
$(BUILD)/obj/cli/report/style.o: cli/report/page.css
$(BUILD)/obj/src/lib/serve/page.o: src/lib/serve/page.html
$(BUILD)/obj/cli/cuda/headers.o: $(wildcard cli/cuda/include/*) src/lib/cudart/ig_cuda.h src/lib/cudart/errors.def $(wildcard src/compiler/library/*.h)

# Its references are most of the time of tests of ops.
ifneq ($(SAN_FLAGS),)
$(BUILD)/obj/cli/verify/%.o: CLI_OPTIMIZE := -O1
endif

# These measure the peak of the machine, which needs fma.
$(BUILD)/obj/cli/bench/limits.o: override CLI_OPTIMIZE := -O3 -ffp-contract=fast
$(BUILD)/obj/cli/bench/limits_arm.o: override CLI_OPTIMIZE := -O3 $(if $(filter aarch64,$(ARCH)),\
    -march=armv8.2-a+bf16+fp16fml)

# At a fixed address its tables of pointers need no relocations: a fifteenth of its size, and work at each start.
COMMAND_LINK := $(if $(MACOS)$(SAN_FLAGS),,-no-pie)

# The command uses base/json, which is not public, so it links the internal library.
$(BUILD)/ingot: $(BUILD)/obj/libinternal.a $(CLI_OBJECTS)
	$(call say,LINK,$@) $(link) $(COMMAND_LINK) $(CLI_OBJECTS) $(BUILD)/obj/libinternal.a $(CLI_LIBS) $(LDLIBS)
	$(if $(filter readline,$(editor)),@echo '$(readline_note)')

# ---- the command for macOS, built on Linux -------------------------------------------------------

# Needs clang and lld, but no SDK: tools/macos declares what is used of macOS. The linker signs the program.
MACOS_CLANG ?= $(CLANG)
MACOS_AR ?= $(firstword $(shell command -v llvm-ar llvm-ar-14 llvm-ar-19) $(wildcard /usr/lib/llvm-*/bin/llvm-ar))
MACOS_MAKE = $(MAKE) BUILD=build-macos CROSS=arm64-apple-macos11- CC=$(MACOS_CLANG) AR=$(MACOS_AR) EDITOR_LIBRARY= \
    CPPFLAGS='-nostdlibinc -isystem build-macos/include' LDFLAGS='-fuse-ld=lld -Lbuild-macos/lib'
macos:
	@tools/macos/prepare build-macos
	@+$(MACOS_MAKE) build-macos/ingot

# Warnings, and names that macOS does not have.
check-macos:
	@tools/macos/prepare build-macos
	@+$(MACOS_MAKE) check-sources

macos-python:
	@tools/macos/prepare build-macos
	@+$(MACOS_MAKE) PYTHON=$(PYTHON) python

# ---- the Python package ------------------------------------------------------------------------

# build/python is a folder for PYTHONPATH. The module uses the limited API of Python 3.11, of which Python 3.10 has all
# that is used here, so one binary serves 3.10 and later. The package holds the library once: the module and the command
# are small, and load it from their own folder. The command has no line editor, since not every system has that library.
PYTHON ?= python3
PYTHON_SOURCES := $(sort $(wildcard python/src/*.c))
PYTHON_OBJECTS := $(PYTHON_SOURCES:%.c=$(BUILD)/obj/%.o)
PACKAGE        := $(BUILD)/python/ingot
PYTHON_LIBRARY := libingot_python.$(if $(MACOS),dylib,so)
PYTHON_BINARIES := $(PYTHON_LIBRARY) _ingot.abi3.so _command
PYTHON_FILES   := $(patsubst python/%,$(BUILD)/python/%,$(sort $(wildcard python/ingot/*.py python/ingot/*/*.py) python/ingot/py.typed))
python_headers  = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
# For another processor: the headers of this one, with tools/package/pyconfig.h.
PYTHON_INCLUDE  = $(if $(CROSS),$(BUILD)/gen/python,$(python_headers))
PYTHON_CROSS   := $(if $(CROSS),$(BUILD)/gen/python/Python.h)

python: $(PYTHON_BINARIES:%=$(PACKAGE)/%) $(PYTHON_FILES) $(if $(CROSS),,$(PACKAGE)/__init__.pyi)

# Type stubs. A module for another processor cannot be asked for its table; its stubs are those of this one.
$(PACKAGE)/__init__.pyi: python/stubs.py $(PYTHON_BINARIES:%=$(PACKAGE)/%) $(PYTHON_FILES)
	$(call say,STUBS,$@) $(PYTHON) python/stubs.py $(BUILD)/python

# Wheels with the command inside, into build/wheel/: native, other (the other processor, on Linux), macos. WHEELS=native
# builds the first only.
wheel:
	@$(PYTHON) python/build_backend.py $(BUILD)/wheel $(WHEELS)

$(BUILD)/gen/python/Python.h: tools/package/pyconfig.h
	@mkdir -p $(@D)
	@cp -R $(python_headers)/. $(@D)/ && cp $< $(@D)/pyconfig.h && touch $@

$(BUILD)/obj/python/src/%.o: python/src/%.c $(GENERATED) $(PUBLIC) $(PYTHON_CROSS)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(COMMON) $(HIDDEN) $(DEFINES) -Wno-cast-function-type -Iinclude -isystem $(PYTHON_INCLUDE) \
	    -DPy_LIMITED_API=0x030B0000 $(OPTIMIZE) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/python/command.o: python/command.c $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(COMMON) $(HIDDEN) $(OPTIMIZE) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The files of the command that differ in the package: main is a function of the library.
PACKAGE_CLI := main prompt
PACKAGE_CLI_OBJECTS := $(PACKAGE_CLI:%=$(BUILD)/obj/package/%.o) $(filter-out $(PACKAGE_CLI:%=$(BUILD)/obj/cli/%.o),$(CLI_OBJECTS))
$(BUILD)/obj/package/%.o: cli/%.c $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(COMMON) $(HIDDEN) $(DEFINES) -Iinclude -Isrc -Icli -I$(BUILD)/gen -Wno-missing-prototypes \
	    '-Dmain=__attribute__((visibility("default"))) ig_command' $(CLI_OPTIMIZE) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# What each binary is linked from. Its own version of the names keeps it apart from an installed libingot.
LINK_$(PYTHON_LIBRARY) = $(if $(MACOS),-dynamiclib -install_name @rpath/$(PYTHON_LIBRARY) -Wl$(comma)-exported_symbols_list$(comma)$(BUILD)/gen/exports.list,\
    -shared -Wl$(comma)-soname$(comma)$(PYTHON_LIBRARY) -Wl$(comma)-Bsymbolic-functions \
    -Wl$(comma)--version-script$(comma)$(BUILD)/gen/package.map) $(OBJECTS) $(LANE_OBJECTS) $(PACKAGE_CLI_OBJECTS)
origin = -Wl,-rpath,$(if $(MACOS),@loader_path,'$$ORIGIN') $(PACKAGE)/$(PYTHON_LIBRARY)
LINK__ingot.abi3.so = $(if $(MACOS),-bundle -undefined dynamic_lookup,-shared) $(PYTHON_OBJECTS) $(origin)
LINK__command = $(BUILD)/obj/python/command.o $(origin)

$(BUILD)/gen/package.map: FORCE
	$(call keep,$@,'INGOT_PYTHON { global: ig_*; local: *; };')
$(PACKAGE)/$(PYTHON_LIBRARY): $(OBJECTS) $(LANE_OBJECTS) $(PACKAGE_CLI_OBJECTS) $(BUILD)/gen/link $(BUILD)/gen/package.map $(BUILD)/gen/exports.list
$(PACKAGE)/_ingot.abi3.so: $(PYTHON_OBJECTS) $(PACKAGE)/$(PYTHON_LIBRARY)
$(PACKAGE)/_command: $(BUILD)/obj/python/command.o $(PACKAGE)/$(PYTHON_LIBRARY)
$(PYTHON_BINARIES:%=$(PACKAGE)/%):
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) $(if $(MACOS),-Wl$(comma)-x -Wl$(comma)-S) $(LINK_$(@F)) $(LDLIBS)

# The same binaries for glibc 2.17 and later; see tools/old-glibc. Functions that are in libc now were in libpthread and libdl.
OBJDUMP ?= $(CROSS)objdump
PORTABLE := $(PYTHON_BINARIES:%=$(BUILD)/portable/%)
portable: $(PORTABLE)
$(PORTABLE): $(BUILD)/portable/%: $(PACKAGE)/% tools/old-glibc
	@mkdir -p $(@D)
	@tools/old-glibc --cc='$(CC) $(TARGET_FLAGS)' --objdump=$(OBJDUMP) $< > $@.s
	$(call say,LINK,$@) $(link) $(LINK_$(@F)) -Wa,--noexecstack $@.s -Wl,--no-as-needed $(LDLIBS) -l:libpthread.so.0 -l:libdl.so.2

$(BUILD)/python/%: python/%
	@mkdir -p $(@D)
	@cp $< $@

# The array API's tests, from a checkout: make array-api-tests ARRAY_API_TESTS=../array-api-tests
array-api-tests: python
	@BUILD=$(BUILD) PYTHON=$(PYTHON) ARRAY_API_TESTS=$(ARRAY_API_TESTS) bash tests/python/array_api.sh

# ---- examples: a program for each file, as a user would build it --------------------------------

# Those in C++ are left out where there is no compiler for it.
EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard examples/*.c)))
EXAMPLES += $(if $(shell command -v $(CXX) 2>/dev/null),$(patsubst %.cpp,$(BUILD)/%,$(sort $(wildcard examples/*.cpp))))
examples: $(EXAMPLES)

$(BUILD)/examples/%: examples/%.c $(PUBLIC) $(BUILD)/libingot.a $(BUILD)/gen/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=c11 -O2 $(WARNINGS) $(LINK) -Iinclude $(CPPFLAGS) $(CFLAGS) \
	    $(LDFLAGS) -o $@ $< $(BUILD)/libingot.a $(LDLIBS)

$(BUILD)/examples/%: examples/%.cpp $(PUBLIC) $(BUILD)/libingot.a $(BUILD)/gen/flags
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) -std=c++11 -O2 -Wall -Wextra -Wpedantic -Werror $(LINK) -Iinclude $(CPPFLAGS) \
	    $(LDFLAGS) -o $@ $< $(BUILD)/libingot.a $(LDLIBS)

# ---- the tests' programs -----------------------------------------------------------------------

# tests/unit, tests/grad, tests/math: a program for each file with a main; it is a test if its name is test_*. The
# other files of the folder are linked with each program.
# tests/opencl: a library that replaces OpenCL's and can fail.
# tests/fakecuda: libraries that replace CUDA's driver and NVRTC: cuda.so; plain.so has no optional function; old.so
# lacks nearly all; attention.so runs attention of f16, and products with epilogues; libraries.so replaces cuBLASLt and cuDNN.
# tests/cuda/driver: a library that replaces CUDA's driver for whole programs; its kernels do nothing.
# tests/fuzz: one target for each file, as a libFuzzer program (FUZZ=1) and as a program that replays files.
# tests/support: helpers for all of them. All may use internal headers.
mains = $(patsubst %.c,$(BUILD)/%,$(sort $(shell grep -l '^int main' $1/*.c 2>/dev/null)))
parts = $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(shell grep -L '^int main' $1/*.c 2>/dev/null)))
UNIT := $(call mains,tests/unit)
GRAD := $(call mains,tests/grad)
MATH := $(call mains,tests/math)
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/*.c)))
FUZZERS := $(filter-out %/standalone,$(FUZZERS))
REPLAYS := $(FUZZERS:%=%-replay)
FUZZERS := $(if $(FUZZ),$(FUZZERS))

FAILING := $(BUILD)/tests/opencl/failing.so
FAKE    := $(patsubst %,$(BUILD)/tests/fakecuda/%.so,cuda plain old attention libraries)
IDLE    := $(if $(MACOS),,$(BUILD)/tests/cuda/idle.so)

UNIT_PARTS      := $(call parts,tests/unit)
GRAD_PARTS      := $(call parts,tests/grad)
MATH_PARTS      := $(call parts,tests/math)
SUPPORT_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/support/*.c)))
CLI_PARTS       := $(filter-out $(BUILD)/obj/cli/main.o,$(CLI_OBJECTS))
TEST_PARTS      := $(BUILD)/obj/libtests.a $(BUILD)/obj/libinternal.a
FUZZ_PARTS      := $(BUILD)/obj/libcli.a $(TEST_PARTS)

# Distributions have cmocka for their own processor only. For another processor tests/cross replaces it. STANDIN=1 does
# so for this processor too, and leaves out the tests that need MPFR.
STANDIN ?= $(CROSS)
ifneq ($(STANDIN),)
  TESTING += -Itests/cross
  CMOCKA := $(BUILD)/obj/tests/cross/cmocka.o
$(UNIT) $(GRAD): $(CMOCKA)
else
  CMOCKA := -lcmocka
endif

tests: $(UNIT) $(GRAD) $(if $(STANDIN),,$(MATH)) $(REPLAYS) $(FUZZERS) $(FAILING) $(FAKE) $(IDLE)
tests-fuzz: $(FUZZERS)

$(BUILD)/obj/libtests.a: $(SUPPORT_OBJECTS) $(BUILD)/gen/link
	@mkdir -p $(@D); rm -f $@; $(AR) rcs $@ $(SUPPORT_OBJECTS)

# The command without its main, for tests of its internal functions.
$(BUILD)/obj/libcli.a: $(CLI_PARTS) $(BUILD)/gen/link
	@mkdir -p $(@D); rm -f $@; $(AR) rcs $@ $(CLI_PARTS)
inside_cli := $(shell grep -l 'include ".*cli/' tests/unit/*.c 2>/dev/null)
$(inside_cli:%.c=$(BUILD)/%): $(BUILD)/obj/libcli.a

# Calls of every public function, for a test of what they do with wrong arguments.
$(BUILD)/gen/boundary_calls.inc: tests/support/boundary_calls.py $(PUBLIC)
	@mkdir -p $(@D)
	@python3 tests/support/boundary_calls.py $(PUBLIC) > $@
boundary := $(patsubst %,$(BUILD)/obj/%/unit/test_boundary.o,tests together)
$(boundary): $(BUILD)/gen/boundary_calls.inc
$(boundary): TEST_OPTIMIZE := -O0

$(BUILD)/obj/tests/%.o: tests/%.c $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(TESTING) $(TEST_FLAGS) $(TEST_OPTIMIZE) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(UNIT_PARTS) $(TEST_PARTS)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) $< $(UNIT_PARTS) $(filter %/libcli.a,$^) \
	    $(TEST_PARTS) $(CMOCKA) $(CLI_LIBS) $(LDLIBS)

# TOGETHER=1: of the unit tests that are asked for, one program, whose copy with a test's name is this test: one link for all. Those
# that include a source file have names of the library; they and those of the command stay programs of their own.
ifneq ($(TOGETHER),)
alone := $(shell grep -l 'include ".*\.c"' tests/unit/*.c)
joined := $(filter-out $(alone:%.c=$(BUILD)/%) $(inside_cli:%.c=$(BUILD)/%),$(UNIT))
joined := $(if $(filter tests,$(MAKECMDGOALS)),$(joined),$(filter $(joined),$(MAKECMDGOALS)))
JOINED_OBJECTS := $(joined:$(BUILD)/tests/%=$(BUILD)/obj/together/%.o)
$(BUILD)/gen/together.inc: FORCE
	$(call keep,$@,$(patsubst %,'JOINED(%)',$(notdir $(joined))))
$(BUILD)/obj/together/%.o: tests/%.c $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(TESTING) $(TEST_OPTIMIZE) -Dmain=main_of_$(*F) -Wno-missing-prototypes $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/tests/together: tests/together.c $(BUILD)/gen/together.inc $(JOINED_OBJECTS) $(TEST_PARTS) $(filter %.o,$(CMOCKA))
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(CC) $(TESTING) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(JOINED_OBJECTS) \
	    $(TEST_PARTS) $(CMOCKA) $(CLI_LIBS) $(LDLIBS)
$(joined): $(BUILD)/tests/together
	@mkdir -p $(@D)
	@ln -f $< $@
endif

$(BUILD)/clang/test_%: $(BUILD)/obj/tests/unit/test_%.o $(UNIT_PARTS) $(CLANG_LANES) $(OBJECTS) $(BUILD)/obj/libtests.a
	$(call say,LINK,$@) $(link) $^ $(CMOCKA) $(LDLIBS)

$(BUILD)/tests/grad/%: $(BUILD)/obj/tests/grad/%.o $(GRAD_PARTS) $(BUILD)/obj/libcli.a $(TEST_PARTS)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) $< $(GRAD_PARTS) $(BUILD)/obj/libcli.a $(TEST_PARTS) $(CMOCKA) $(CLI_LIBS) $(LDLIBS)

$(BUILD)/tests/math/%: $(BUILD)/obj/tests/math/%.o $(MATH_PARTS) $(TEST_PARTS)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) $< $(MATH_PARTS) $(TEST_PARTS) $(CMOCKA) \
	    -lmpfr -lgmp $(LDLIBS)

# These check the arithmetic of the lane loops, so they are compiled with the same flags.
$(BUILD)/obj/tests/math/%.o: TEST_OPTIMIZE := $(LANES_OPTIMIZE)
$(BUILD)/obj/tests/fuzz/%.o: TESTING += -Wno-missing-prototypes $(STEER)

# It hides its own names from the library that it loads.
$(FAILING): tests/opencl/failing.c $(GENERATED)
	@mkdir -p $(@D) $(BUILD)/obj/tests/opencl
	$(call say,LINK,$@) $(CC) $(TESTING) $(TEST_OPTIMIZE) $(HIDDEN) $(CPPFLAGS) $(CFLAGS) -shared \
	    -MMD -MP -MF $(BUILD)/obj/tests/opencl/failing.d $(LDFLAGS) -o $@ $< $(LDLIBS)

# These have their own copy of the library, which is hidden from the program that loads them.
FAKE_OBJECTS := $(patsubst %,$(BUILD)/obj/tests/fakecuda/%.o,driver memory program compiler missing graph)
$(BUILD)/obj/tests/fakecuda/%.o: TEST_FLAGS := $(HIDDEN)
$(BUILD)/tests/fakecuda/cuda.so: $(FAKE_OBJECTS) $(BUILD)/obj/libinternal.a
$(BUILD)/tests/fakecuda/plain.so: $(filter-out %/graph.o,$(FAKE_OBJECTS)) $(BUILD)/obj/libinternal.a
$(BUILD)/tests/fakecuda/attention.so: $(FAKE_OBJECTS) $(BUILD)/obj/tests/fakecuda/attend.o $(BUILD)/obj/libinternal.a
$(BUILD)/tests/fakecuda/old.so: $(BUILD)/obj/tests/fakecuda/old.o
$(BUILD)/tests/fakecuda/libraries.so: $(patsubst %,$(BUILD)/obj/tests/fakecuda/%.o,libraries dnn)
$(FAKE): $(BUILD)/tests/fakecuda/exports.map
	$(call say,LINK,$@) $(link) -shared $(if $(MACOS),,-Wl,--version-script,$<) $(filter %.o %.a,$^) $(LDLIBS)
$(BUILD)/tests/fakecuda/exports.map: FORCE
	$(call keep,$@,'{ global: cu*; nvrtc*; fake_*; local: *; };')

$(BUILD)/tests/cuda/idle.so: $(patsubst %,$(BUILD)/obj/tests/cuda/driver/%.o,idle rest)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) -shared $^ $(LDLIBS)

# tests/metal: a stand-in for libobjc and Metal, and a program that runs macOS programs (macho/).
METAL_SIM := $(BUILD)/tests/metal/libmetalsim.so
MACHO_RUN := $(if $(filter aarch64,$(ARCH)),$(if $(MACOS),,$(BUILD)/tests/metal/macho_run))
metal-tests: $(METAL_SIM) $(MACHO_RUN) $(BUILD)/tests/metal/misuse
tests: $(if $(CROSS),,metal-tests)
$(BUILD)/tests/metal/macho_run: $(wildcard tests/metal/macho/*.[chS]) $(GENERATED)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(CC) $(COMMON) $(DEFINES) -O1 -Wno-missing-prototypes $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) \
	    -o $@ $(filter %.c %.S,$^) $(LDLIBS)
$(BUILD)/tests/metal/misuse: tests/metal/misuse.c $(wildcard src/engine/backend/metal/*.h src/engine/backend/metal/*.def) $(GENERATED)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(CC) $(COMMON) $(DEFINES) -O1 -Isrc -Wno-cast-function-type $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(LDLIBS)
$(METAL_SIM): $(wildcard tests/metal/sim/*.[chS]) $(GENERATED)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(CC) $(COMMON) $(HIDDEN) $(DEFINES) -O2 -Wno-missing-prototypes $(CPPFLAGS) $(CFLAGS) -shared \
	    $(LDFLAGS) -o $@ $(filter %.c %.S,$^) $(LDLIBS)

REPLAY := $(BUILD)/obj/tests/fuzz/standalone.o
$(BUILD)/tests/fuzz/%-replay: $(BUILD)/obj/tests/fuzz/%.o $(REPLAY) $(FUZZ_PARTS)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) $< $(REPLAY) $(FUZZ_PARTS) $(CLI_LIBS) $(LDLIBS)

$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(FUZZ_PARTS)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) -fsanitize=fuzzer $< $(FUZZ_PARTS) $(CLI_LIBS) $(LDLIBS)

.SECONDARY:

# ---- run and test ------------------------------------------------------------------------------

run:
	@tools/setup
	@$(MAKE) --no-print-directory all
	@tools/tour $(BUILD)/ingot

test:
	@tools/setup --test
	@tests/run

test-full:
	@tools/setup --test --full
	@tests/run --full

check:
	@tools/setup --check
	@tests/run --essential

# Warnings of clang's front end in all sources, or in those of CHECK. The fuzz build compiles them, but perhaps with a newer clang.
CHECK ?= %
CHECKED := $(addprefix $(BUILD)/gen/,levels.h boundary_calls.inc op_functions.inc kernels.inc digits.inc)
check-sources: $(CHECKED)
	@printf '%s\n' $(filter $(CHECK),$(SOURCES)) | xargs -P$(JOBS) -n 16 $(CLANG) -fsyntax-only $(LIBRARY) $(CPPFLAGS)
	@printf '%s\n' $(filter $(CHECK),$(filter-out %/limits_arm.c,$(CLI))) | xargs -P$(JOBS) -n 16 $(CLANG) -fsyntax-only $(LIBRARY) $(CPPFLAGS) -Icli $(CLI_DEFINES)

check-clang: check-sources
	@printf '%s\n' $(wildcard tests/*/*.c bench/*.c) | xargs -P$(JOBS) -n 16 $(CLANG) -fsyntax-only $(TESTING)

# FUZZ_SECONDS for each target; inputs that fail are in found/ of the build folder.
FUZZ_SECONDS ?= 600
fuzz:
	@tools/setup --test
	@tests/run --stage fuzz --fuzz-seconds $(FUZZ_SECONDS)

coverage:
	@tools/setup --test --full
	@tests/run --stage coverage

# ---- bench -------------------------------------------------------------------------------------

# WORK=pattern selects works, THREADS=n, QUICK=1 only checks that it runs, BENCH= has further options of bench/run. See
# bench/README.md.
BENCH_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out bench/slow.c bench/step.c bench/stream.c, \
                 $(sort $(wildcard bench/*.c cli/bench/limits*.c))))
BENCH_FLAGS   := $(if $(WORK),--work '$(WORK)') $(if $(THREADS),--threads $(THREADS)) \
                 $(if $(QUICK),--quick) $(BENCH)

$(BUILD)/obj/bench/%.o: bench/%.c $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(COMMON) $(DEFINES) -Iinclude -Icli $(OPTIMIZE) $(CPPFLAGS) $(CFLAGS) -MMD -MP \
	    -c -o $@ $<

$(BUILD)/bench/ours: $(BENCH_OBJECTS) $(BUILD)/libingot.a
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) $(BENCH_OBJECTS) $(BUILD)/libingot.a $(LDLIBS)

# A step from C, which bench/python compares with Python.
$(BUILD)/bench/step: $(BUILD)/obj/bench/step.o $(BUILD)/libingot.a
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) $^ $(LDLIBS)

# A product of files through a device with little memory.
$(BUILD)/bench/stream: $(BUILD)/obj/bench/stream.o $(BUILD)/libingot.a
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) $^ $(LDLIBS)

# The command, some per cent slower: bench/aa must detect it.
$(BUILD)/bench/ingot-slow: $(BUILD)/obj/bench/slow.o $(CLI_OBJECTS) $(BUILD)/obj/libinternal.a
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) -Wl,--wrap=ig_eval $(BUILD)/obj/bench/slow.o $(CLI_OBJECTS) \
	    $(BUILD)/obj/libinternal.a $(CLI_LIBS) $(LDLIBS)

bench:
	@tools/setup --peers
	@$(MAKE) --no-print-directory all $(BUILD)/bench/ours
	@bench/run --build $(BUILD) $(BENCH_FLAGS)

# ---- install -----------------------------------------------------------------------------------

PKGDIR     := $(LIBDIR)/pkgconfig
CMAKEDIR   := $(LIBDIR)/cmake/ingot
SHAREDIR   ?= $(PREFIX)/share

# Files that the installed command prints: "arguments|file". For another processor RUN runs the command
# (RUN='qemu-x86_64 -L ...'); without it these files are left out.
PRINTED := man|$(SHAREDIR)/man/man1/ingot.1 \
        completion_bash|$(SHAREDIR)/bash-completion/completions/ingot \
        completion_zsh|$(SHAREDIR)/zsh/site-functions/_ingot \
        completion_fish|$(SHAREDIR)/fish/vendor_completions.d/ingot.fish
PRINTED := $(if $(CROSS),$(if $(RUN),$(PRINTED)),$(PRINTED))
printed_arguments = $(subst _,$(space),$(firstword $(subst |,$(space),$1)))
printed_file = $(lastword $(subst |,$(space),$1))
print_file = mkdir -p $(dir $(DESTDIR)$(call printed_file,$1)) && \
    $(RUN) $(BUILD)/ingot $(call printed_arguments,$1) > $(DESTDIR)$(call printed_file,$1) && \
    chmod 644 $(DESTDIR)$(call printed_file,$1)

INSTALLED := $(BINDIR)/ingot $(PUBLIC:include/%=$(INCLUDEDIR)/%) $(LIBDIR)/libingot.a $(LIBDIR)/$(SHARED) \
             $(LIBDIR)/$(SHARED_DEV) $(PKGDIR)/ingot.pc $(CMAKEDIR)/ingot-config.cmake \
             $(CMAKEDIR)/ingot-config-version.cmake $(TEAM:%=$(LIBDIR)/%) $(MPICH:%=$(LIBDIR)/%) $(foreach t,$(PRINTED),$(call printed_file,$t))

fill = sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@SERIES@|$(basename $(VERSION))|g' \
           -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' \
           -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|g' -e 's|@SHARED@|$(SHARED)|g' \
           -e 's|@CMAKEDIR@|$(CMAKEDIR)|g' \
           tools/package/$1.in > $(DESTDIR)$2/$1 && chmod 644 $(DESTDIR)$2/$1

# Programs without symbol tables; the shared library keeps its public names, the static one all that linking needs.
STRIP ?= $(CROSS)strip
strip_static := $(if $(MACOS),-S,--strip-debug)
strip_shared := $(if $(MACOS),-x,--strip-unneeded)

# On arm64, macOS runs signed files only, and stripping changes what was signed.
sign = $(if $(MACOS),codesign -f -s - $1)

install: all
	@mkdir -p $(addprefix $(DESTDIR),$(BINDIR) $(INCLUDEDIR)/ingot $(PKGDIR) $(CMAKEDIR))
	install -m 755 $(BUILD)/ingot $(DESTDIR)$(BINDIR)/ingot
	$(STRIP) $(DESTDIR)$(BINDIR)/ingot
	$(call sign,$(DESTDIR)$(BINDIR)/ingot)
	install -m 644 include/ingot.h $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(filter include/ingot/%,$(PUBLIC)) $(DESTDIR)$(INCLUDEDIR)/ingot
	install -m 644 $(BUILD)/libingot.a $(DESTDIR)$(LIBDIR)/libingot.a
	$(STRIP) $(strip_static) $(DESTDIR)$(LIBDIR)/libingot.a
	install -m 755 $(BUILD)/$(SHARED) $(DESTDIR)$(LIBDIR)/$(SHARED)
	$(STRIP) $(strip_shared) $(DESTDIR)$(LIBDIR)/$(SHARED)
	$(call sign,$(DESTDIR)$(LIBDIR)/$(SHARED))
	ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/$(SHARED_DEV)
	for f in $(TEAM) $(MPICH); do install -m 755 $(BUILD)/$$f $(DESTDIR)$(LIBDIR)/$$f && \
	    $(STRIP) $(strip_shared) $(DESTDIR)$(LIBDIR)/$$f; done
	$(if $(TEAM),$(call sign,$(DESTDIR)$(LIBDIR)/$(TEAM)))
	$(if $(MPICH),$(call sign,$(DESTDIR)$(LIBDIR)/$(MPICH)))
	@$(call fill,ingot.pc,$(PKGDIR))
	@$(call fill,ingot-config.cmake,$(CMAKEDIR))
	@$(call fill,ingot-config-version.cmake,$(CMAKEDIR))
	@set -e; $(foreach t,$(PRINTED),$(call print_file,$t);)

uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	-@rmdir $(DESTDIR)$(CMAKEDIR) $(DESTDIR)$(INCLUDEDIR)/ingot 2>/dev/null || true

# ---- packages ----------------------------------------------------------------------------------

# Debian packages into build/deb/; see tools/package/deb. Their command is at no fixed address, as Debian wants it.
DEBIAN_ARCH := $(shell dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null)
$(BUILD)/obj/deb/ingot: $(BUILD)/obj/libinternal.a $(CLI_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) -pie $(CLI_OBJECTS) $(BUILD)/obj/libinternal.a $(CLI_LIBS) $(LDLIBS)

# Debian's Python package uses the library of its own package.
$(BUILD)/obj/deb/_ingot.abi3.so: $(PYTHON_OBJECTS) $(BUILD)/$(SHARED_DEV)
	@mkdir -p $(@D)
	$(call say,LINK,$@) $(link) -shared $(PYTHON_OBJECTS) $(BUILD)/$(SHARED_DEV) $(LDLIBS)

staged := $(BUILD)/deb-staged
deb: all python $(BUILD)/obj/deb/ingot $(BUILD)/obj/deb/_ingot.abi3.so
	@rm -rf $(BUILD)/deb $(staged)
	@$(MAKE) --no-print-directory -s install DESTDIR=$(staged) PREFIX=/usr LIBDIR=/usr/lib/$(DEBIAN_ARCH)
	@cp $(BUILD)/obj/deb/ingot $(staged)/usr/bin/ingot && $(STRIP) $(staged)/usr/bin/ingot
	@cd $(PACKAGE) && for file in *.py *.pyi */*.py */*.pyi py.typed; do \
	    install -m 644 -D "$$file" "$(abspath $(staged))/usr/lib/python3/dist-packages/ingot/$$file"; done
	@install -m 644 $(BUILD)/obj/deb/_ingot.abi3.so $(staged)/usr/lib/python3/dist-packages/ingot
	@$(STRIP) --strip-unneeded $(staged)/usr/lib/python3/dist-packages/ingot/_ingot.abi3.so
	@tools/package/deb $(staged) $(BUILD)/deb

# The source archive, into build/dist/.
dist:
	@$(PYTHON) python/build_backend.py $(BUILD)/dist source

# ---- what is made from the op table, and committed -----------------------------------------------

docs:
	awk -v header=1 -f tools/op-functions $(OP_TABLE) > include/ingot/op_functions.h
	@$(MAKE) --no-print-directory $(BUILD)/ingot
	$(BUILD)/ingot ops --markdown > docs/ops.md
	tools/coverage $(BUILD)/ingot > docs/coverage.md

# ---- housekeeping ------------------------------------------------------------------------------

CLANG_FORMAT ?= clang-format
FORMATTED = $(sort $(wildcard include/*.h include/ingot/*.h cli/*.[ch] cli/*/*.[ch] examples/*.[ch] bench/*.[ch] tests/*/*.[ch] python/src/*.[ch] \
              $(foreach f,$(FOLDERS) engine/backend/cpu/lanes lib/mpi,src/$f/*.[ch])))

format:
	$(CLANG_FORMAT) -i $(FORMATTED)

check-format:
	@$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

clean:
	rm -rf build build-*

help:
	@echo 'make                 the command and both libraries (build/)'
	@echo 'make run             install what is missing, build; list, check and measure the devices'
	@echo 'make test            install what is missing, run the tests: 25 minutes on two cores'
	@echo 'make check           the essential tests, in three minutes'
	@echo 'make test-full       all tests, whole: hours; continues after an interruption'
	@echo 'make fuzz            run the fuzz targets, FUZZ_SECONDS=600 each'
	@echo 'make coverage        report which lines the tests reach'
	@echo 'make bench           times beside NumPy, PyTorch, JAX, MLX, Dask: WORK=pattern THREADS=n QUICK=1'
	@echo 'make install         DESTDIR, PREFIX=/usr/local, BINDIR, LIBDIR, INCLUDEDIR, SHAREDIR'
	@echo 'make uninstall       removes these files'
	@echo 'make format          format the sources with clang-format; check-format only checks'
	@echo 'make docs            write docs/ops.md and include/ingot/op_functions.h from the op table'
	@echo 'make python          the Python package, into build/python/; make wheel: wheels, into build/wheel/'
	@echo 'make deb             Debian packages, into build/deb/'
	@echo 'make dist            the source archive, into build/dist/'
	@echo 'make examples        the programs of examples/, into build/examples/'
	@echo 'make tests           build the test programs'
	@echo 'make macos           the command for macOS on arm64, cross-built on Linux without an SDK (build-macos/)'
	@echo 'make clean           remove build/ and build-*/'
	@echo
	@echo 'variants, each in its own directory: CC=clang  CROSS=x86_64-linux-gnu-'
	@echo '  SAN=address,undefined  SAN=thread  COVERAGE=1  DEBUG=-g  BUILD=dir  CFLAGS=...  JOBS=n'

# Expanded here: in a recipe, variables of the target that is built first would count.
flags_text := $(CC) $(LIBRARY) $(STEER) $(OPTIMIZE) $(SMALL_OPTIMIZE) $(SMALL) $(LANES_OPTIMIZE) $(PLAIN_OPTIMIZE) $(STEPS_OPTIMIZE) $(CLI_OPTIMIZE) $(TESTING) $(TEST_OPTIMIZE) \
              $(HIDDEN) $(CLI_DEFINES) $(foreach level,$(LEVELS),$(LEVEL_FLAGS_$(level))) $(CPPFLAGS) $(CFLAGS)
link_text := $(CC) $(LINK) $(COMMAND_LINK) $(SHARED_LINK) $(LDFLAGS) $(LDLIBS) \
             $(OBJECTS) $(LANE_OBJECTS) $(CLI_OBJECTS) $(SUPPORT_OBJECTS)

# A build of clang's lanes may write its files at the same time; only that build reads them.
-include $(shell find $(BUILD)/obj $(if $(findstring /clang/,$(MAKECMDGOALS)),$(BUILD)/clang) -name '*.d' 2>/dev/null)
