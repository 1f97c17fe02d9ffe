# The commands of TeamSpace; `make` alone lists them. What takes more than a few lines is in hack/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory --no-builtin-rules

# One setting for everything that is built or analysed, so that all of it shares one build cache:
# static binaries, no C compiler, no revision stamped in. Only tests under the race detector differ.
export CGO_ENABLED := 0
ifeq (,$(findstring -buildvcs=,$(GOFLAGS)))
export GOFLAGS += -buildvcs=false
endif

.PHONY: help
help: ## This list.
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

##### Build

.PHONY: build
build: ## bin/manager and bin/kubectl-teamspace, static.
	@hack/build manager ./cmd/manager
	@hack/build kubectl-teamspace ./cmd/kubectl-teamspace

.PHONY: sandbox
sandbox: ## bin/sandbox and the real control plane beside it (first time: some minutes); NODE=1: a node's parts too.
	@mkdir -p bin
	@cd sandbox && go run ./cmd/build --bin ../bin $(if $(NODE),--node)

.PHONY: image
image: build sandbox ## bin/manager.tar: the manager's image, made without a registry.
	@bin/sandbox image --binary bin/manager --name labhub.io/teamspace/manager:$(VERSION) --output bin/manager.tar
VERSION = $(shell awk '/^appVersion:/ { gsub("\"", ""); print $$2 }' charts/teamspace/Chart.yaml)

.PHONY: generate
generate: bin/tools/controller-gen ## Writes what is generated: deepcopy and the CRD from the API's types, the table of values.
	@hack/generate .

.PHONY: clean
clean: ## Removes bin/, the tools included.
	@rm -rf bin

##### Run

.PHONY: dev
dev: ## DIR=DIR [ARCHIVE=URL]: a control plane with the chart and the manager, in the foreground.
	@[[ -n "$(DIR)" ]] || { echo "make dev needs a folder to work in: make dev DIR=/tmp/teamspace [ARCHIVE=file:///tmp/archive]" >&2; exit 2; }
	@$(MAKE) build sandbox
	@exec bin/sandbox dev --dir "$(DIR)" --chart charts/teamspace --manager bin/manager $(if $(ARCHIVE),--archive "$(ARCHIVE)")

.PHONY: demo
demo: build sandbox ## The tour on a real control plane: a team's namespace made, broken, repaired, archived.
	@exec bin/sandbox tour --chart charts/teamspace --manager bin/manager

##### Check

.PHONY: test
test: ## Everything a fresh machine needs, then all tests.
	@hack/test

.PHONY: lint
lint: bin/tools/golangci-lint ## The linter alone, over all modules.
	@hack/verify lint

.PHONY: fmt
fmt: bin/tools/golangci-lint ## Formats all modules.
	@for module in . sandbox test; do (cd $$module && $(CURDIR)/bin/tools/golangci-lint fmt --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: verify
verify: tools ## What must hold of the tree: generated files, lint, vet, tidy, chart, layers, vulnerabilities.
	@hack/verify

.PHONY: oracle
oracle: ## [GRAPHS=n] [SEED=s]: the rules of ownership against the real collector, on random graphs.
	@$(MAKE) sandbox >&2
	@cd test && go build -o ../bin/oracle ./oracle/cmd/oracle
	@exec bin/oracle --graphs "$(or $(GRAPHS),30)" --seed "$(SEED)"

.PHONY: e2e
e2e: ## The chart on a real node, with running pods (Linux, root; installs Debian packages that are missing).
	@$(MAKE) sandbox
	@bin/sandbox node check
	@$(MAKE) image bin/tools/helm bin/tools/helm3
	@$(MAKE) sandbox NODE=1
	@cd test && go build -o ../bin/cert-manager ./certmanager/cmd/cert-manager
	@bin/sandbox image --binary bin/cert-manager --name localhost/cert-manager:test --output bin/cert-manager.tar
	@cd sandbox && TEAMSPACE_E2E=1 go test -count=1 -timeout=20m -v -run='^TestNode$$' ./integration
	@cd test && TEAMSPACE_E2E=1 go test -count=1 -timeout=40m -v ./e2e

.PHONY: preview
preview: ## [GRAPHS=n] [SEED=s]: what the plugin foretells of deletions, against the real collector.
	@$(MAKE) build sandbox >&2
	@cd test && go test ./preview -count=1 -v -timeout=60m -args -graphs="$(or $(GRAPHS),100)" -seed="$(or $(SEED),1)"

.PHONY: bench
bench: build sandbox ## The plugin's time and memory, against the least that the data costs, in one run.
	@cd test && go build -o ../bin/bench ./bench/cmd/bench
	@exec bin/bench

##### Of later parts: each says so and fails, so that nobody takes silence for success.

.PHONY: chaos
chaos: ## Failures injected (part 8).
	@$(call later,8)
later = echo "make $@ is not there yet: part $(1) of the project brings it" >&2; exit 2

##### Tools, pinned in go.tools.mod and built once

tool.golangci-lint  := sigs.k8s.io/kube-api-linter/cmd/golangci-lint-kube-api-linter
tool.controller-gen := sigs.k8s.io/controller-tools/cmd/controller-gen
tool.govulncheck    := golang.org/x/vuln/cmd/govulncheck
tool.helm           := helm.sh/helm/v4/cmd/helm
tool.helm3          := helm.sh/helm/v3/cmd/helm

.PHONY: tools
tools: bin/tools/controller-gen bin/tools/golangci-lint bin/tools/govulncheck bin/tools/helm

bin/tools/%: go.tools.mod go.tools.sum
	@hack/build tools/$* $(tool.$*) -modfile=go.tools.mod
