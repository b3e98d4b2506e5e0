//! Properties of methods.

/// True if a method is safe (RFC 9110 §9.2.1), so that an additional request does no harm.
pub fn is_safe_method(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}
