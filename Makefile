# Entry points for people and for CI. Each target sets up what it needs by itself; scripts/ holds what they do.
.PHONY: help demo test build bench

help:
	@echo 'make demo    build fathom and measure this machine for 30 s on a scratch file, which is removed again'
	@echo 'make test    every check: format, lints, tests, generated documents; what CI runs'
	@echo 'make build   the optimised program, target/release/fathom'
	@echo 'make bench   fathom beside the fio of this machine, and figures of its own (wants an idle machine)'
	@echo
	@echo 'Missing tools are named and then installed: with apt-get (as root or through sudo), Rust with rustup.'

demo:
	@scripts/bootstrap demo scripts/demo

test:
	@scripts/bootstrap test scripts/check

build:
	@scripts/bootstrap build cargo build --locked --release --package fathom

bench:
	@scripts/bootstrap bench scripts/bench $(BENCH)
