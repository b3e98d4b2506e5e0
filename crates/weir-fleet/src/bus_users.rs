//! The configuration of a nats-server that knows identities, and takes from each only what its role
//! needs.

use crate::envelope::{FROM_ASKING, asking_of, from_agent, left_by, progress_of, to_agent};
use crate::identity::{AUTHORITY, CERTIFICATE, IdentityFile, KEY, Role, domain_name, inbox_of};

/// File with the users, which the configuration includes.
pub(crate) const USERS: &str = "users.conf";

/// Returns the configuration without the users. Its paths are relative to its own directory.
pub(crate) fn configuration() -> String {
    format!(
        "# cd to this directory, and: nats-server -c nats.conf\n\
         listen: \"0.0.0.0:4222\"\n\
         jetstream {{ store_dir: \"jetstream\" }}\n\
         tls {{\n  cert_file: \"{CERTIFICATE}\"\n  key_file: \"{KEY}\"\n  \
         ca_file: \"{AUTHORITY}\"\n  verify_and_map: true\n  timeout: 5\n}}\n\
         include \"{USERS}\"\n"
    )
}

/// Returns the users. Who is none is shut out, whatever its certificate.
pub(crate) fn users(identities: &[IdentityFile]) -> String {
    let users = identities.iter().map(user).collect::<String>();
    format!(
        "# Written by weir fleet init, add and remove; nats-server reads it again on SIGHUP.\n\
         authorization {{\n  users = [\n{users}  ]\n}}\n"
    )
}

/// Returns the user of an identity, with what it may say and hear.
fn user(IdentityFile { role, name }: &IdentityFile) -> String {
    let inbox = format!("{}.>", inbox_of(name));
    let (says, hears) = match role {
        Role::Coordinator => (
            // The specification goes to the inboxes of agents, and a value to its own comes back.
            vec![
                to_agent("*"),
                "weir.run.>".to_owned(),
                "$JS.API.>".to_owned(),
                format!("{}.>", inbox_of("*")),
            ],
            vec![from_agent("*"), progress_of("*"), FROM_ASKING.to_owned(), inbox],
        ),
        Role::Agent => {
            // Nothing of JetStream's API: its answers are written to any subject that they name.
            let says = vec![
                from_agent(name),
                progress_of(name),
                asking_of(name),
                inbox.clone(),
                left_by(name, "*"),
            ];
            (says, vec![to_agent(name), from_agent(name), inbox])
        }
        Role::Viewer => (Vec::new(), vec![from_agent("*"), progress_of("*")]),
    };
    let quoted = |subjects: Vec<String>| {
        let quoted: Vec<String> = subjects.iter().map(|it| format!("\"{it}\"")).collect();
        quoted.join(", ")
    };
    let says = match says.is_empty() {
        true => "deny: [\">\"]".to_owned(),
        false => format!("allow: [{}]", quoted(says)),
    };
    let user = domain_name(name);
    format!(
        "    {{ user: \"{user}\", permissions: {{\n      publish: {{ {says} }}\n      \
         subscribe: {{ allow: [{}] }} }} }}\n",
        quoted(hears)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_speaks_for_itself_alone() {
        let agent = user(&IdentityFile { role: Role::Agent, name: "gen-1".to_owned() });
        let says = agent.split("subscribe").next().expect("a text");
        assert!(says.contains("weir.agent.gen-1.out") && !says.contains(".in\""), "{says}");
        assert!(!says.contains("weir.agent.*") && !says.contains("specification"), "{says}");
        let viewer = user(&IdentityFile { role: Role::Viewer, name: "viewer".to_owned() });
        assert!(viewer.contains("publish: { deny: [\">\"] }"), "{viewer}");
    }
}
