//! Exports the program's symbols, so that scripts' `ffi.C` and Lua modules written in C find
//! LuaJIT's functions in it.

fn main() {
    println!("cargo:rustc-link-arg-bins=-rdynamic");
}
