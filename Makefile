# Everything is set up inside .anatomy/ by the target that needs it; see kernels/jupyter/setup.py.
PYTHON ?= python3
VENV := .anatomy/venv/bin
# Without a home directory the caches of Go lie in .anatomy, too.
export HOME := $(or $(HOME),$(CURDIR)/.anatomy/home)
# A workspace that the folder lies in, and flags that choose how go.mod is read or which it is, are for the user's own modules. Go asks git
# of no repository around the folder, which may be somebody else's and name programs that git runs.
export GOWORK := off
export GOFLAGS := $(filter-out -mod=% --mod=% -modfile=% --modfile=%,$(GOFLAGS)) -buildvcs=false
SETUP = @command -v $(PYTHON) >/dev/null || { echo "missing: Python 3.11 or newer: Debian \`apt-get install python3 python3-venv\`, macOS \`brew install python\`" >&2; exit 1; }; \
	$(PYTHON) kernels/jupyter/setup.py

HOUSES := geom viz morpho surfaces landmarks
.PHONY: setup setup-cuda gpu-check gpu-compile report gallery test lab program kernel $(HOUSES:%=test-%) test-kernel test-cells test-lab test-cluster cluster soak page release test-release wheel rename bench bench-narrow calibrate strip clean

# PLUGIN=gomlx, =xla-cpu-pjrt or =/path/to/plug-in takes XLA's machine code from there from then on, #sha256=HEX behind it only if it has this
# checksum; PLUGIN=wheel takes the wheel's again. A variable PLUGIN of the environment is somebody else's.
CHOICE := run
ifneq ($(filter command,$(origin PLUGIN)),)
override PLUGIN := $(value PLUGIN)
export PLUGIN
CHOICE := plugin
endif
setup: # what the other targets do first; PLUGIN=gomlx or PLUGIN=/path/to/plug-in chooses XLA's machine code
	$(SETUP) $(CHOICE)
	@echo 'set up: `make lab` opens the notebooks, `make report` executes them and writes their reports'

setup-cuda: # computations run on an NVIDIA GPU from then on; ANATOMY_DEVICE=cpu in the environment: not this time
	$(SETUP) cuda

gpu-check: # compare what the GPU computes with the CPU, with times; OPTIONS="-landmarks 5000" are those of docker/gpucheck
	$(SETUP) run
	@go run ./docker/gpucheck $(OPTIONS)

# On Linux on x86-64. OPTIONS="-programs FOLDER": programs that ANATOMY_NATIVE=off ANATOMY_RECORD_PROGRAMS=FOLDER in the environment of another
# command has recorded.
gpu-compile: # compile what gpu-check computes for four NVIDIA GPUs that are not there, and compare its launches with those that are allowed
	$(SETUP) compiler
	@LD_LIBRARY_PATH="$(CURDIR)/.anatomy/compiler/nvidia/cu13/lib" go run ./docker/gpucheck -compile .anatomy/compiler -landmarks 2000 $(OPTIONS)

# NOTEBOOKS="notebooks/1-1_x.ipynb ..." for some of them; DATA=my.csv COVARIATES=table.csv SET="width=3 from=Homo sapiens" for one's own
# landmarks and parameters; DATA=meshes LANDMARKS=template.mrk.json for meshes and the landmarks of some of them; TITLE and
# AUTHORS="A. Name; B. Name" stand on the reports. Neither make nor a shell looks into these values.
override DATA := $(value DATA)
override COVARIATES := $(value COVARIATES)
override LANDMARKS := $(value LANDMARKS)
override TITLE := $(value TITLE)
override SET := $(value SET)
override AUTHORS := $(value AUTHORS)
override NOTEBOOKS := $(value NOTEBOOKS)
export DATA COVARIATES LANDMARKS SET TITLE AUTHORS NOTEBOOKS
report: # execute the notebooks, write notebooks/reports
	$(SETUP) run
	@$(VENV)/python notebooks/report/run.py --make

gallery: # make report, and the pictures of notebooks/gallery anew
	$(SETUP) run
	@$(VENV)/python notebooks/report/run.py --make --gallery

# Without the C linker a test is linked in two thirds of the time.
LINK := $(if $(filter Linux.x86_64,$(subst $() ,.,$(shell uname -sm))),-ldflags=-linkmode=internal)
test: # format, vet, tests, and every notebook with its report; with other data than the standard ones the template own_landmarks, and the template own_population in the tests of the reports
	$(SETUP) run
	@unformatted=$$(find . -path ./.anatomy -prune -o -name '*.go' -exec gofmt -l {} +); \
	if [ -n "$$unformatted" ]; then echo "not formatted: gofmt -w" $$unformatted >&2; exit 1; fi
	@GOGC=400 go vet ./...
	@$(VENV)/python -m unittest discover -s notebooks/report & reports=$$!; \
	GOGC=400 go test -vet=off -timeout 1h $(LINK) ./... && (cd kernels/jupyter/tools && go test ./...); tests=$$?; \
	wait $$reports && exit $$tests
	@$(VENV)/python notebooks/report/run.py --check --data landmarks/morpho/data/plethodon_12.csv --set 'model=species*site' & own=$$!; \
	$(VENV)/python notebooks/report/run.py --check; standard=$$?; wait $$own && exit $$standard

override NOTEBOOK := $(value NOTEBOOK)
export NOTEBOOK
program: # NOTEBOOK=notebooks/1-2_geodesics.ipynb: a program that does the same, in .anatomy/programs; prints the command that runs it
	$(SETUP) run
	@notebook=$$(realpath -- "$$NOTEBOOK" 2>/dev/null); cd kernels/jupyter/tools && go run ./program "$(CURDIR)" "$$notebook"

lab: # JupyterLab on the notebooks; OPTIONS="--no-browser --port 8899" are its own
	$(SETUP) lab
	@$(VENV)/python -m jupyterlab notebooks --LabApp.default_url=/lab/tree/0_ten_minutes.ipynb $(OPTIONS)

kernel: # install the kernel "Anatomy (Go)" of this folder into your own Jupyter: for this user, or PREFIX=/path/to/environment
	$(SETUP) lab
	@$(VENV)/python -m jupyter_client.kernelspecapp install $(if $(and $(filter command,$(origin PREFIX)),$(PREFIX)),--prefix="$(PREFIX)",--user) --name=anatomy .anatomy/venv/share/jupyter/kernels/anatomy
	@echo 'to remove it: jupyter kernelspec remove anatomy'

# The tests of one house of CONTRIBUTING.md, for whoever changes it.
PACKAGES_geom := ./geom/...
PACKAGES_viz := ./viz/...
PACKAGES_morpho := ./landmarks/morpho/...
PACKAGES_surfaces := ./landmarks/surfaces/...
PACKAGES_landmarks := ./landmarks ./landmarks/strain ./landmarks/internal/...
$(HOUSES:%=test-%): test-%:
	$(SETUP) run
	@go vet $(PACKAGES_$*)
	@GOGC=400 go test -vet=off $(LINK) $(PACKAGES_$*)

test-kernel: # sums of kernels; the compiler of cells; the Jupyter protocol: completion, inspection, errors, interrupts
	$(SETUP) test
	@go vet ./kernels/...
	@GOGC=400 go test -vet=off $(LINK) ./kernels/... && cd kernels/jupyter/tools && go test ./...
	@$(VENV)/python -m unittest discover -s kernels/jupyter

test-cells: # every notebook cell by cell, where make test executes them as programs
	$(SETUP) test
	@$(VENV)/python notebooks/report/run.py --check --cells

cluster: # Snakemake in .anatomy/cluster, for studies on many machines: see docker/README.md
	$(SETUP) cluster

test-cluster: cluster # a study by Snakemake on this machine's cores, with tasks and Snakemake itself killed on the way
	@$(VENV)/python docker/cluster/test_snakefile.py

test-lab: # JupyterLab in a headless Chromium, screenshots in .anatomy/screenshots; there, too, reports on a phone and about hostile data, the wheel of the program in a new environment, and a renamed module
	$(SETUP) test
	@$(VENV)/python kernels/jupyter/lab.py
	@$(VENV)/python notebooks/report/pages.py
	@$(VENV)/python notebooks/report/hostile.py
	@$(MAKE) --no-print-directory test-cluster
	@$(MAKE) --no-print-directory page
	@$(VENV)/python landmarks/morpho/anatomy/browse.py
	@$(VENV)/python landmarks/morpho/anatomy/firefox.py
	@$(VENV)/python landmarks/morpho/anatomy/python/test_release.py
	@$(VENV)/python internal/test_rename.py

soak: # 100 restarts of the kernel, 1000 cells, 20 killed reports, with what they leave behind; about 100 hostile files, with the memory and time of each; OPTIONS=race: instead the tests of all packages with Go's race detector
	$(SETUP) test
	@$(VENV)/python kernels/jupyter/soak.py $(OPTIONS)
	@[ "$(OPTIONS)" = race ] || go test ./landmarks/morpho/anatomy -run '^TestHostile$$' -v -timeout 1h -hostile -table

page: # .anatomy/page/anatomy.html: the program anatomy in one page for a browser, which needs no server and sends nothing
	@mkdir -p .anatomy/page
	@CGO_ENABLED=0 GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o .anatomy/page/anatomy.wasm ./landmarks/morpho/anatomy
	@go run ./landmarks/morpho/anatomy/page -program .anatomy/page/anatomy.wasm -goroot "$$(go env GOROOT)" -out .anatomy/page/anatomy.html
	@rm .anatomy/page/anatomy.wasm; echo .anatomy/page/anatomy.html

release: page # .anatomy/release, a folder for upload: programs and Python wheels for Linux, macOS and Windows, the page, sources, the reports that `make report` has written, the draft of a paper, checksums; equal sources give equal bytes, but for the reports
	@$(PYTHON) landmarks/morpho/anatomy/python/release.py

test-release: # as root: what `make release` has written, installed and tried on Debian without Go, compiler, clone or network, also for ARM64 and in Wine
	$(SETUP) test
	@$(VENV)/python landmarks/morpho/anatomy/python/test_clean.py

wheel: # .anatomy/wheel: the program and its Python module for this system alone
	@$(PYTHON) landmarks/morpho/anatomy/python/release.py wheel

override MODULE := $(value MODULE)
export MODULE
rename: # MODULE=example.org/name/anatomy: the Go module gets this path, in go.mod, imports, notebooks and pages; commit first
	@$(PYTHON) internal/rename.py "$$MODULE"

bench: # benchmarks of every package, and kernel sums beside JAX, KeOps and finufft where BENCH_PYTHON has them
	$(SETUP) run
	@ANATOMY_PROGRAMS=off go test -run '^$$' -bench . ./...
	@ANATOMY_PROGRAMS=off go run ./notebooks/lab/bench -python $(or $(BENCH_PYTHON),$(PYTHON))

bench-narrow: # what kernels.Fast chooses for narrow kernels, beside exact sums and finufft, up to 100,000 points; OPTIONS="-min 1000000 -max 1000000": a million
	$(SETUP) run
	@ANATOMY_PROGRAMS=off go run ./notebooks/lab/bench -narrow -max 100000 -python $(or $(BENCH_PYTHON),$(PYTHON)) $(OPTIONS)

calibrate: # densities, sizes of tests, intervals and logarithms against what they should be, as tables: an hour or more; OPTIONS="-only sizes"
	$(SETUP) run
	@go run ./notebooks/lab/calibrate -python "$(CALIBRATE_PYTHON)" $(OPTIONS)

strip: # remove the outputs from the notebook files
	$(SETUP) run
	@$(VENV)/python notebooks/report/run.py --strip

clean: # remove what was set up, and the reports
	@[ ! -d .anatomy/home ] || chmod -R u+w .anatomy/home
	rm -rf .anatomy notebooks/reports
