# Each target does all that it needs: on a fresh Debian machine with rustup, `make demo` and `make test` are enough.

TARGET_DIR ?= $(or $(CARGO_TARGET_DIR),target)
TURNBACK := $(TARGET_DIR)/release/turnback

.PHONY: demo test build bench lint setup

# Watch files go back, and one that somebody else changed be left alone.
demo: build
	@sh tests/demo.sh $(TURNBACK)

# Every test.
test: build
	cargo test --release --locked --workspace

build: setup
	cargo build --release --locked --workspace

# Whole processes against git, side by side in one run.
bench: build
	cargo bench --profile release --locked -p turnback-tests

# The formatter, clippy and the docs, warnings denied.
lint: setup
	cargo fmt --all --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --release --locked --workspace --no-deps --document-private-items

# What the build needs beside rustup's toolchain: a compiler for WebAssembly, a C linker, git.
setup:
	@sh tests/setup.sh
