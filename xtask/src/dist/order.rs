//! The parts that each package is made of.

use std::path::Path;

use super::checkout::Checkout;
use super::files::Files;
use super::release::Release;

/// Parts of every package, and the directory of the packages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    pub(super) release: &'a Release,
    pub(super) checkout: &'a Checkout,
    pub(super) files: &'a Files,
    pub(super) packages: &'a Path,
}
