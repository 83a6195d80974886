#!/bin/sh
# Installs what the build and the tests need and the machine lacks. A machine that has it all is left as it is.
set -eu

say() { printf 'setup: %s\n' "$*" >&2; }

command -v cargo >/dev/null 2>&1 || {
    say 'there is no cargo: install Rust with rustup first (https://rustup.rs), then run make again'
    exit 1
}

wasm_compiler() {
    libdir=$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null) || libdir=
    if [ -n "$libdir" ] && ls "$libdir"/libcore-* >/dev/null 2>&1; then return 0; fi
    [ -x /usr/bin/rustc ] && [ -d /usr/lib/rustlib/src/rust/library/std ]
}

packages=
command -v cc >/dev/null 2>&1 || packages="$packages gcc libc6-dev"
command -v git >/dev/null 2>&1 || packages="$packages git"
# Some tests look at the workspace as another user: util-linux has setpriv.
command -v setpriv >/dev/null 2>&1 || packages="$packages util-linux"
if ! wasm_compiler; then
    say 'adding the WebAssembly target to the Rust toolchain'
    rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || {
        say "rustup cannot fetch it; using Debian's compiler for it"
        packages="$packages rustc-web rust-web-src"
    }
fi
[ -n "$packages" ] || exit 0

command -v apt-get >/dev/null 2>&1 || {
    say "please install:$packages"
    exit 1
}
sudo=
if [ "$(id -u)" != 0 ]; then
    sudo=sudo
    command -v sudo >/dev/null 2>&1 || {
        say "please install, as root:$packages"
        exit 1
    }
fi
say "installing:$packages"
$sudo apt-get update -qq
# shellcheck disable=SC2086 # a list of names
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $packages >/dev/null
wasm_compiler || {
    say 'there is still no compiler for WebAssembly: neither rustup nor the packages rustc-web and rust-web-src gave one'
    exit 1
}
