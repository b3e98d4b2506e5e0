//! The pages of the shop: values in, HTML out.

/// Returns the first page.
pub(super) fn home() -> String {
    page(
        "Shop",
        "<ul>\n<li><a href=\"/login\">Log in</a></li>\n\
         <li><a href=\"/account\">Account</a></li>\n\
         <li><a href=\"/stats\">Counters</a></li>\n</ul>",
    )
}

/// Returns the page with the form of a log-in.
pub(super) fn login(csrf: &str) -> String {
    page(
        "Log in",
        &format!(
            "<form action=\"/login\" method=\"post\">\n\
             <input type=\"hidden\" name=\"csrf\" value=\"{csrf}\">\n\
             <input type=\"text\" name=\"user\">\n\
             <input type=\"password\" name=\"password\">\n\
             <button>Log in</button>\n</form>"
        ),
    )
}

/// Returns the page of a user.
pub(super) fn account(user: &str) -> String {
    page("Account", &format!("<p>Welcome, <b>{}</b>.</p>", escaped(user)))
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <title>{title}</title></head>\n<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    )
}

/// Returns text as it is written in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_pages() {
        let form = login("1f");
        assert!(form.contains("<input type=\"hidden\" name=\"csrf\" value=\"1f\">"), "{form}");
        let page = account("a<b>\"&lt;");
        assert!(page.contains("<b>a&lt;b&gt;&quot;&amp;lt;</b>"), "{page}");
        assert!(home().contains("<a href=\"/login\">"));
    }
}
