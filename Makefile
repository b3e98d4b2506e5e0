# Each target sets up what it needs and then calls `cargo xtask`, where the work is described.

# rustup's directory, for shells that were started before Rust was installed.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help demo test bench accuracy dist rust
.DEFAULT_GOAL := help

help:
	@echo 'make demo    builds weir and shows it at work against its own server'
	@echo 'make test    everything a change must pass; installs nginx when root'
	@echo 'make bench   weir beside its peers: the committed page, in about an hour'
	@echo 'make accuracy  weir against known truths: the committed page, in half an hour'
	@echo 'make dist    packages in target/dist, installed and checked, in about half an hour'
	@echo 'More tasks: cargo xtask help'

demo: rust
	@echo 'make demo compiles weir first, which takes about 4 minutes on two CPUs. Then'
	@echo 'it starts a server of its own and loads it twice, for 20 seconds.'
	cargo xtask demo

# Compiles from a clean clone; keeping what a later change could reuse takes a tenth longer.
test: export CARGO_INCREMENTAL := 0
test: rust
	cargo xtask setup test
	cargo xtask ci

bench: rust
	cargo xtask setup bench
	cargo xtask bench

accuracy: rust
	cargo xtask setup accuracy
	cargo xtask setup fleet
	cargo xtask setup interop
	cargo xtask accuracy

dist: rust
	cargo xtask setup dist
	cargo xtask dist

rust:
	@command -v cargo >/dev/null || { \
		echo 'weir is built with Rust, which is missing here: install it from'; \
		echo 'https://rustup.rs, and then try again.'; \
		exit 1; }
	@command -v cc >/dev/null || { \
		echo 'Rust links with the C compiler `cc`, which is missing here: install gcc'; \
		echo 'or clang (Debian: apt-get install gcc libc6-dev), and then try again.'; \
		exit 1; }
