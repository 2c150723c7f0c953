# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
# `make demo` and `make test` are all a fresh machine needs; everything else is CMake with the presets of CMakePresets.json.
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
# Tests wait now and then: for threads, for programs they have started, for a limit of time that must pass.
TESTS_AT_ONCE ?= $(shell expr $(JOBS) + 2)
MATRIX ?=
PREFIX ?= /usr/local
CUDA   ?=
PRESET ?= $(if $(filter ON,$(CUDA)),cuda,release)
SUITE  ?= paper
# Tests take longer to optimise than to run.
CONFIGURE ?= $(if $(filter release cuda,$(PRESET)),-DTULLE_PRECOMPILE=ON -DTULLE_UNITY=ON -DTULLE_TEST_FLAGS=-O0)
BUILD  := build/$(PRESET)
QUIET  := >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
# What CMake said about CUDA: one line where nvcc is here without a GPU.
NOTE   := sed -n 's/^-- tulle: \(nvcc is here.*\)/tulle: \1/p' $(BUILD).configure.log >&2

# The Python package: its environment, and how it is built there. LIBRARY=build/release takes the library of that build instead of building one.
PYTHON  ?= python3
LIBRARY ?=
VENV    := build/python-venv
PYTHON_BUILD := -C build-dir=build/python -C cmake.define.TULLE_PYTHON_CLI=ON -C cmake.define.TULLE_PYTHON_REFERENCE=ON \
	$(if $(LIBRARY),-C cmake.define.tulle_DIR=$(abspath build/python-prefix/lib/cmake/tulle))

.PHONY: cluster-test help docs dashboard pages-test demo test bench install python python-torch python-sim notebooks wheel wheel-test clean check format reference asan tsan sim fuzz ci
.DEFAULT_GOAL := help

help:
	@echo "make demo [MATRIX=A.mtx]   multiply with a matrix on every available backend, check and time the results, draw the matrix"
	@echo "make test                  build and run all tests"
	@echo "make bench                 time tulle and the baselines (SUITE=paper, real, quick or a file)"
	@echo "make install PREFIX=dir    install library, headers, programs, manual and completions (now: $(PREFIX))"
	@echo "make cluster-test          tulle::mpi and the PETSc plugin under mpirun, PETSc's own examples among the programs (needs libpetsc-real-dev)"
	@echo "make python                the Python package in an environment of its own (build/python-venv), and its tests"
	@echo "make python-torch          its tests of tulle.torch, with torch installed (large)"
	@echo "make python-sim            its tests with arrays on the simulated GPU"
	@echo "make notebooks             the notebooks of docs/notebooks, executed, in build/notebooks"
	@echo "make wheel                 the Python package as a wheel in build/wheels"
	@echo "make wheel-test            the wheel looked at by auditwheel, and used in an empty environment"
	@echo "make check                 layers of the source tree; every header compiled alone"
	@echo "make format                format all sources (clang-format 14)"
	@echo "make reference             reference of the public headers (Doxygen): build/reference/html/index.html"
	@echo "make asan | tsan | sim     the tests under AddressSanitizer, ThreadSanitizer, on the simulated GPU"
	@echo "make fuzz [SECONDS=30]     fuzz every reader"
	@echo "make ci                    everything that CI looks at, over several runs (.ci/run: one run of CI)"
	@echo "make docs                  the documentation site, in build/docs/html"
	@echo "make dashboard             speed of everything in bench/results, as one HTML file: build/dashboard/index.html"
	@echo "make pages-test            report, dashboard and site in a real browser (PICTURES=docs/images: screenshots go there)"
	@echo "make clean                 remove build/"
	@echo "CUDA=ON                    build the CUDA backend even without a GPU (demo, test, bench, install)"

demo:
	@tools/setup demo
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@$(NOTE)
	@echo "building tulle-demo in $(BUILD)" >&2
	@cmake --build $(BUILD) -j $(JOBS) --target bin/tulle-demo $(QUIET)
	@$(BUILD)/bin/tulle-demo $(MATRIX)

test:
	@tools/setup test
	@$(MAKE) -s --no-print-directory -B $(BUILD)/build.ninja
	@$(NOTE)
	cmake --build $(BUILD) -j $(JOBS)
	@tools/run_tests $(BUILD) -j $(TESTS_AT_ONCE)

cluster-test:
	@tools/setup ci
	@$(MAKE) -s --no-print-directory -B $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target tulle_petsc petsc_programs mpi_checks tulle-mpi bin/tulle $(QUIET)
	petsc/tests/run $(BUILD)
	mpi/tests/run $(BUILD)
	cmake --preset sim >build/sim.configure.log
	cmake --build build/sim -j $(JOBS) --target mpi_checks tulle-mpi >build/sim.log 2>&1 || { cat build/sim.log; exit 1; }
	mpi/tests/run build/sim --gpu

bench:
	@tools/setup test
	@$(MAKE) -s --no-print-directory -B $(BUILD)/build.ninja CONFIGURE="$(CONFIGURE) -DTULLE_BENCH_TIMES=ON"
	@cmake --build $(BUILD) -j $(JOBS) --target bin/tulle-bench $(QUIET)
	@$(BUILD)/bin/tulle-bench spmv --suite $(SUITE)

install:
	@tools/setup demo
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	cmake --build $(BUILD) -j $(JOBS) --target tulle_installed
	cmake --install $(BUILD) --prefix $(PREFIX)

# Configured once; CMake itself notices later changes.
build/%/build.ninja:
	@mkdir -p build/$*
	@echo "configuring build/$*" >&2
	@cmake --preset $* $(CONFIGURE) >build/$*.configure.log 2>&1 || { cat build/$*.configure.log; rm -f build/$*/build.ninja; exit 1; }

python: $(VENV)/.ready
	@tools/setup demo
	@[ -z "$(LIBRARY)" ] || cmake --install $(LIBRARY) --prefix build/python-prefix >build/python-prefix.log
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) CMAKE_CXX_COMPILER_LAUNCHER=$$(command -v ccache) $(VENV)/bin/pip install --quiet --no-build-isolation --no-deps $(PYTHON_BUILD) .
	TULLE_PYTHON_REFERENCE=build/python/reference $(VENV)/bin/python -m pytest -q $(PYTEST)

# torch is large: its tests are skipped where it is missing. TORCH= names another version.
TORCH ?= torch
python-torch: $(VENV)/.ready
	$(VENV)/bin/pip install --quiet --disable-pip-version-check $(TORCH)
	$(MAKE) --no-print-directory python PYTEST="python/tests/test_torch.py python/tests/test_plans.py"

# Arrays on a GPU, on the simulated one.
python-sim: $(VENV)/.ready
	cmake --preset sim -DTULLE_BUILD_PYTHON=ON -Dnanobind_DIR=$$($(VENV)/bin/python -m nanobind --cmake_dir) -DPython_EXECUTABLE=$(abspath $(VENV)/bin/python)
	cmake --build build/sim -j $(JOBS) --target _core
	PYTHONPATH=build/sim/python/package $(VENV)/bin/python -m pytest -q python/tests/test_gpu_arrays.py python/tests/test_sddmm.py

# Executed in Jupyter's kernel, with their outputs, in build/notebooks; the package must be there (make python).
notebooks: $(VENV)/.ready
	$(VENV)/bin/pip install --quiet --disable-pip-version-check nbclient ipykernel
	@mkdir -p build/notebooks && cp docs/notebooks/*.ipynb build/notebooks
	$(VENV)/bin/jupyter-execute --kernel_name=python3 --inplace build/notebooks/*.ipynb
	@ls build/notebooks

wheel: $(VENV)/.ready
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(VENV)/bin/pip wheel --quiet --no-build-isolation --no-deps -C build-dir=build/python-wheel -w build/wheels .
	@ls build/wheels

# auditwheel, and the wheel in an empty environment.
wheel-test: wheel
	tools/check_wheel "$$(ls -t build/wheels/tulle-*.whl | head -n 1)"

$(VENV)/.ready: python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r python/requirements.txt
	@touch $@

check:
	@tools/setup ci
	python3 tools/check_layers.py
	python3 tools/check_headers.py -j $(JOBS)

# An undocumented public name is an error.
reference:
	@tools/setup ci
	@rm -rf build/reference && mkdir -p build
	doxygen docs/Doxyfile
	@echo "build/reference/html/index.html"

asan tsan sim:
	@tools/setup ci
	$(MAKE) --no-print-directory test PRESET=$@

SECONDS ?= 30
fuzz:
	@tools/setup ci
	cmake --preset asan && cmake --build build/asan -j $(JOBS) --target fuzzers
	tests/fuzz/run.sh $(SECONDS)

# Sphinx and its themes live in an environment of their own; Doxygen reads the public headers.
DOCS_VENV := build/docs-venv
docs: $(DOCS_VENV)/ready
	@$(DOCS_VENV)/bin/sphinx-build -W --keep-going -q -E -b html -d build/docs/doctrees docs build/docs/html
	@echo "build/docs/html/site/index.html"
$(DOCS_VENV)/ready: docs/requirements.txt
	@tools/setup docs
	@python3 -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/pip install -q -r docs/requirements.txt
	@touch $@

# One self-contained page from the lines of tulle-bench; Python alone.
dashboard:
	@mkdir -p build/dashboard
	@tools/dashboard.py -o build/dashboard/index.html

# Chromium opens what the other targets made; PAGES chooses tests (-m "not slow" in CI).
PAGES_VENV := build/pages-venv
PICTURES ?= build/pages
PAGES ?=
pages-test: $(PAGES_VENV)/ready dashboard docs
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target bin/tulle $(QUIET)
	$(PAGES_VENV)/bin/python -m pytest -c tests/pages/pytest.ini tests/pages -q --tulle $(BUILD)/bin/tulle --pictures $(PICTURES) $(PAGES)
$(PAGES_VENV)/ready: tests/pages/requirements.txt
	@tools/setup pages
	@python3 -m venv $(PAGES_VENV)
	@$(PAGES_VENV)/bin/pip install -q --disable-pip-version-check -r tests/pages/requirements.txt
	@touch $@

format:
	@tools/format

ci:
	.ci/run --all

clean:
	rm -rf build
