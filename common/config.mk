# config.mk — the tools and the backend, found once, for the root's Makefile, for lab/ and for a handout.
# COURSE is the folder that holds common/, grader/ and tools/; BUILD is where everything built lands.

# No built-in rules: none is used here, and looking for one takes most of the time of a make that finds nothing to do.
MAKEFLAGS += -r

# Both are absolute: a dependency file names its target by path, and root, lab/ and grader must mean the same file by it.

COURSE  ?= .
override COURSE := $(realpath $(COURSE))
# CROSS=aarch64: compiles for another processor, into a build folder of its own (make test-arm).
BUILD   ?= $(COURSE)/build$(CROSS:%=/%)
override BUILD := $(abspath $(BUILD))

NEWEST_GXX = $(firstword $(foreach v,14 13 12,$(shell command -v $(1)g++-$(v))) $(shell command -v $(1)g++))
CROSS_PREFIX := $(CROSS:%=%-linux-gnu-)
CROSS_GXX = $(or $(lastword $(sort $(wildcard $(BUILD)/packages/bin/$(CROSS_PREFIX)g++-*))),$(call NEWEST_GXX,$(CROSS_PREFIX)))
ifeq ($(origin CXX),default)
CXX := $(if $(CROSS),$(CROSS_GXX),$(call NEWEST_GXX))
endif
ifeq ($(origin CC),default)
CC := $(subst g++,gcc,$(if $(CROSS),$(CROSS_GXX),$(call NEWEST_GXX)))
endif
AR := $(CROSS_PREFIX)ar
OBJCOPY := $(CROSS_PREFIX)objcopy
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))

# cuda needs both a compiler and a device; everything else is the CPU backend.
BACKEND ?= auto
ifeq ($(BACKEND),auto)
override BACKEND := $(if $(and $(NVCC),$(wildcard /dev/nvidia[0-9]* /dev/dxg)),cuda,cpu)
endif

# Warnings are errors with the compiler that the tests use. A newer one warns of more, which must not stop a learner's build.
TESTED_GCC := 12
WARNINGS := -Wall -Wextra -Wpedantic $(if $(filter $(TESTED_GCC) $(TESTED_GCC).%,$(if $(CC),$(shell $(CC) -dumpversion))),-Werror)
CFLAGS   ?= -O2 -g
# SANITIZE=address,undefined: the host C under sanitizers (make test-asan).
ifneq ($(SANITIZE),)
override CC := $(CC) -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
# BUILD_C compiles the programs that the build itself runs.
BUILD_CC := $(if $(CROSS),$(subst g++,gcc,$(call NEWEST_GXX)),$(CC))
C_FLAGS  := -std=c17 $(WARNINGS) $(CFLAGS) -I$(COURSE) -MMD -MP
HOST_C   := $(CC) $(C_FLAGS)
BUILD_C  := $(BUILD_CC) $(C_FLAGS)
