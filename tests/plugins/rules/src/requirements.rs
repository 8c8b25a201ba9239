//! Passes with requirements that cannot be met. Their level keeps them out of requests for all passes of the others.

use relais_plugin_api::prelude::*;

/// Requires a pass that requires it.
#[module_pass(name = "acme.Chicken", opt_level = 8, required = ["acme.Egg"])]
fn chicken(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Requires a pass that requires it.
#[module_pass(name = "acme.Egg", opt_level = 8, required = ["acme.Chicken"])]
fn egg(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Requires a pass that does not exist.
#[module_pass(name = "acme.NeedsUnicorn", opt_level = 8, required = ["acme.Unicorn"])]
fn needs_unicorn(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Requires a pass that can be switched off.
#[module_pass(name = "acme.NeedsTypes", opt_level = 8, required = ["relais.InferType"])]
fn needs_types(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Requires, by way of another pass, one of a plugin that may be refused.
#[module_pass(name = "acme.NeedsNeighbour", opt_level = 8, required = ["acme.NeedsFault"])]
fn needs_neighbour(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Requires one of a plugin that may be refused.
#[module_pass(name = "acme.NeedsFault", opt_level = 8, required = ["bad.Fault"])]
fn needs_fault(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Requires a pass that changes nothing.
#[module_pass(name = "acme.NeedsCount", opt_level = 8, required = ["acme.Count"])]
fn needs_count(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}
