# The course's one entry. `make` alone prints help.
.DEFAULT_GOAL := help
COURSE := .
include common/config.mk

TESTS :=
include $(wildcard common/module.mk common/*/module.mk grader/module.mk tools/module.mk)

.PHONY: help
help: ## this help
	@awk -F':.*## ' '/^[a-z][a-zA-Z0-9_-]*:.*## /{printf "  make %-12s %s\n",$$1,$$2}' $(MAKEFILE_LIST)
