//! Secrets on their way from the texts where they stand to the redaction.

use crate::spec::credentials;

/// Credentials that came with a value, beyond those of the specification.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoundSecrets {
    /// Texts that must not be written, if they are long enough to search for.
    pub(super) texts: Vec<String>,
    /// User names and passwords from URLs, as they stood there.
    pub(super) userinfos: Vec<String>,
}

impl FoundSecrets {
    /// Returns values that must not be written.
    pub(crate) fn of_values(texts: Vec<String>) -> FoundSecrets {
        FoundSecrets { texts, userinfos: Vec::new() }
    }

    /// Returns the user name and password of a URL.
    pub(super) fn of_url(userinfo: Option<&str>) -> FoundSecrets {
        let userinfos = userinfo.filter(|it| !it.is_empty()).map(str::to_owned);
        FoundSecrets { texts: Vec::new(), userinfos: userinfos.into_iter().collect() }
    }

    /// Adds others.
    pub(super) fn append(&mut self, other: FoundSecrets) {
        self.texts.extend(other.texts);
        self.userinfos.extend(other.userinfos);
    }

    /// Returns the secrets of `USER:PASS` as flags have them, and of those in URLs.
    pub(super) fn of_users(users: &[String], userinfos: &[String]) -> FoundSecrets {
        FoundSecrets {
            texts: users.iter().flat_map(|user| secrets_of_user(user)).collect(),
            userinfos: userinfos.iter().filter(|it| !it.is_empty()).cloned().collect(),
        }
    }
}

/// Returns `USER:PASS`, its password, and the token of basic authentication.
pub(super) fn secrets_of_user(user: &str) -> Vec<String> {
    let basic = credentials::basic(user);
    let token = basic.split_once(' ').map(|(_, token)| token.to_owned());
    let password = password_of(user).map(str::to_owned);
    token.into_iter().chain(password).chain([user.to_owned()]).collect()
}

/// Returns the password of `USER:PASS`.
pub(super) fn password_of(user: &str) -> Option<&str> {
    user.split_once(':').map(|(_, password)| password)
}
