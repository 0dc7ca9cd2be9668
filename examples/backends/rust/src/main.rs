//! A backend for burn as a plugin process, written against PROTOCOL.md and OPS.md: the carrier in these files, the ops in `kernels`.

mod codec;
mod connection;
mod device;
mod fault;
mod kernels;
mod messages;
mod process;
mod service;
mod stream;
mod tensor;

use std::process::exit;

pub const NAME: &str = "rusty";
pub const PROTOCOL: u32 = 2;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flag = args.first().map(|a| a.trim_start_matches('-').to_string());
    let hosted = match flag.as_deref() {
        Some("version") => {
            println!("burn-backend-{NAME} {}, protocol {PROTOCOL}, {}/{}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
            return;
        }
        Some("debug") => false,
        Some(other) => {
            eprintln!("burn-backend-{NAME}: no flag --{other}; there are --version and --debug");
            exit(2);
        }
        None => true,
    };
    if hosted && std::env::var("BURN_PLUGIN").as_deref() != Ok("c7a9f5d0-burn-backend") {
        eprintln!("burn-backend-{NAME} is a plugin of burn and is started by it: see `burn devices`");
        exit(1);
    }
    if let Err(e) = process::run(hosted) {
        eprintln!("burn-backend-{NAME}: {e}");
        exit(1);
    }
}
