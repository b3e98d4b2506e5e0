//! Values that a document leaves out.

/// True for the value that an absent field has.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
