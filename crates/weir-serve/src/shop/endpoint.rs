//! The endpoints of the shop, and the search for a request's. It knows no response.

/// An endpoint: a method and a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShopEndpoint {
    Home,
    LoginPage,
    Login,
    Account,
    Token,
    Products,
    Product,
    AddToCart,
    Cart,
    Order,
    Logout,
    Stats,
    /// Any other method or path.
    Other,
}

impl ShopEndpoint {
    /// All endpoints with their names, in the order of their values.
    pub(super) const ALL: [(ShopEndpoint, &'static str); 13] = [
        (ShopEndpoint::Home, "GET /"),
        (ShopEndpoint::LoginPage, "GET /login"),
        (ShopEndpoint::Login, "POST /login"),
        (ShopEndpoint::Account, "GET /account"),
        (ShopEndpoint::Token, "POST /token"),
        (ShopEndpoint::Products, "GET /api/products"),
        (ShopEndpoint::Product, "GET /api/products/{id}"),
        (ShopEndpoint::AddToCart, "POST /api/cart"),
        (ShopEndpoint::Cart, "GET /api/cart"),
        (ShopEndpoint::Order, "POST /api/orders"),
        (ShopEndpoint::Logout, "POST /logout"),
        (ShopEndpoint::Stats, "GET /stats"),
        (ShopEndpoint::Other, "other"),
    ];

    /// Returns the endpoint of a request. HEAD is taken as GET.
    pub(super) fn find(method: &[u8], path: &[u8]) -> ShopEndpoint {
        let method = if method == b"HEAD" { b"GET" } else { method };
        let mut fitting = ShopEndpoint::of_path(path).filter(|(own, _)| own.as_bytes() == method);
        fitting.next().map_or(ShopEndpoint::Other, |(_, endpoint)| endpoint)
    }

    /// Returns the methods that a path has.
    pub(super) fn methods(path: &[u8]) -> Vec<&'static str> {
        ShopEndpoint::of_path(path).map(|(method, _)| method).collect()
    }

    /// Returns the endpoints of a path, with their methods.
    fn of_path(path: &[u8]) -> impl Iterator<Item = (&'static str, ShopEndpoint)> {
        ShopEndpoint::ALL.into_iter().filter_map(move |(endpoint, name)| {
            let (method, own) = name.split_once(' ')?;
            let fits = match own.strip_suffix("{id}") {
                None => own.as_bytes() == path,
                Some(begin) => path
                    .strip_prefix(begin.as_bytes())
                    .is_some_and(|id| !id.is_empty() && !id.contains(&b'/')),
            };
            fits.then_some((method, endpoint))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_the_order_of_their_values() {
        for (place, (endpoint, name)) in ShopEndpoint::ALL.into_iter().enumerate() {
            assert_eq!(endpoint as usize, place, "{name}");
        }
    }

    #[test]
    fn requests_have_endpoints() {
        let check = |method: &str, path: &str, expected| {
            let found = ShopEndpoint::find(method.as_bytes(), path.as_bytes());
            assert_eq!(found, expected, "{method} {path}");
        };
        check("GET", "/", ShopEndpoint::Home);
        check("HEAD", "/login", ShopEndpoint::LoginPage);
        check("POST", "/login", ShopEndpoint::Login);
        check("GET", "/api/products", ShopEndpoint::Products);
        check("GET", "/api/products/7", ShopEndpoint::Product);
        check("GET", "/api/products/", ShopEndpoint::Other);
        check("GET", "/api/products/7/8", ShopEndpoint::Other);
        check("GET", "/account/", ShopEndpoint::Other);
        check("PUT", "/account", ShopEndpoint::Other);
        check("other", "", ShopEndpoint::Other);
        assert_eq!(ShopEndpoint::methods(b"/login"), ["GET", "POST"]);
        assert_eq!(ShopEndpoint::methods(b"/none"), [""; 0]);
    }
}
