//! The authority of a fleet: it makes the identities, and the configuration of a nats-server that
//! takes from each only what its role needs.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ED25519, date_time_ymd,
};

use crate::envelope::{from_agent, progress_of, to_agent};
use crate::identity::{
    AUTHORITY, CERTIFICATE, COORDINATORS, DESCRIPTION, IdentityFile, KEY, Role, SIGNING_KEY,
    domain_name, inbox_of,
};
use crate::order::public_key;
use crate::record::{ending_of, intervals_of, result_of};

/// Time before now from which certificates are valid: clocks differ.
const BEFORE: Duration = Duration::from_hours(1);

/// A fleet to be made.
#[derive(Clone, Debug)]
pub struct FleetPlan {
    /// Names of the agents.
    pub agents: Vec<String>,
    /// Host names and addresses of the bus; loopback is always among them.
    pub hosts: Vec<String>,
    /// Time for which the certificates are valid.
    pub valid: Duration,
}

impl FleetPlan {
    /// Makes a directory with the authority, the server, a coordinator, the agents and a viewer.
    /// Only this user can read it.
    ///
    /// # Errors
    /// When a name is none, the directory is there already, or it cannot be written.
    pub fn make(&self, directory: &Path) -> Result<()> {
        self.check_names()?;
        make_directory(directory)?;
        let issuer = self.authority()?;
        write(&directory.join(AUTHORITY), &issuer.pem())?;
        write(&directory.join("ca.key"), &issuer.key().serialize_pem())?;
        let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter();
        let server = directory.join("server");
        let hosts = hosts.chain(self.hosts.iter().cloned()).collect();
        let purpose = ExtendedKeyUsagePurpose::ServerAuth;
        self.sign(&issuer, &server, hosts, purpose)?;
        write(&server.join("nats.conf"), &self.configuration())?;
        let signing = KeyPair::generate_for(&PKCS_ED25519)?;
        let coordinators = format!(
            "# Keys of the coordinators whose orders this agent takes.\n{} coordinator\n",
            public_key(&signing)
        );
        for IdentityFile { role, name } in self.identities() {
            let place = directory.join(&name);
            let purpose = ExtendedKeyUsagePurpose::ClientAuth;
            self.sign(&issuer, &place, vec![domain_name(&name)], purpose)?;
            match role {
                Role::Coordinator => write(&place.join(SIGNING_KEY), &signing.serialize_pem())?,
                Role::Agent => write(&place.join(COORDINATORS), &coordinators)?,
                Role::Viewer => {}
            }
            let text = serde_json::to_string(&IdentityFile { role, name })?;
            write(&place.join(DESCRIPTION), &(text + "\n"))?;
        }
        Ok(())
    }

    fn check_names(&self) -> Result<()> {
        ensure!(!self.agents.is_empty(), "a fleet has at least one agent");
        for (index, name) in self.agents.iter().enumerate() {
            let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if name.is_empty() || name.len() > 63 || !name.chars().all(is_fit) {
                bail!("{name}: a name has a to z, digits and -, at most 63");
            }
            let is_taken = ["server", "coordinator", "viewer"].contains(&name.as_str());
            if is_taken || self.agents[..index].contains(name) {
                bail!("{name}: two identities have this name");
            }
        }
        Ok(())
    }

    /// Returns all that connect to the bus.
    fn identities(&self) -> Vec<IdentityFile> {
        let agents = self.agents.iter().map(|name| (Role::Agent, name.as_str()));
        let others = [(Role::Coordinator, "coordinator"), (Role::Viewer, "viewer")];
        let all = others.into_iter().chain(agents);
        all.map(|(role, name)| IdentityFile { role, name: name.to_owned() }).collect()
    }

    fn authority(&self) -> Result<CertifiedIssuer<'static, KeyPair>> {
        let mut authority = self.parameters(Vec::new())?;
        authority.distinguished_name.push(DnType::CommonName, "weir fleet");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?)
    }

    fn parameters(&self, names: Vec<String>) -> Result<CertificateParams> {
        let mut parameters = CertificateParams::new(names)?;
        let now = Duration::from_nanos(weir_sys::realtime_ns());
        let epoch = date_time_ymd(1970, 1, 1);
        parameters.not_before = epoch + now.saturating_sub(BEFORE);
        parameters.not_after = epoch + now + self.valid;
        Ok(parameters)
    }

    /// Makes a directory with a key, a certificate for these names, and that of the authority.
    fn sign(
        &self,
        issuer: &CertifiedIssuer<'_, KeyPair>,
        directory: &Path,
        names: Vec<String>,
        purpose: ExtendedKeyUsagePurpose,
    ) -> Result<()> {
        make_directory(directory)?;
        let mut parameters = self.parameters(names)?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        parameters.distinguished_name.push(DnType::CommonName, name.as_ref());
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.insert_extended_key_usage(purpose);
        parameters.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = parameters.signed_by(&key, issuer)?;
        write(&directory.join(AUTHORITY), &issuer.pem())?;
        write(&directory.join(CERTIFICATE), &certificate.pem())?;
        write(&directory.join(KEY), &key.serialize_pem())
    }

    /// Returns the configuration of nats-server. Its paths are relative to its own directory.
    fn configuration(&self) -> String {
        let users = self.identities().iter().map(user).collect::<String>();
        format!(
            "# cd to this directory, and: nats-server -c nats.conf\n\
             listen: \"0.0.0.0:4222\"\n\
             jetstream {{ store_dir: \"jetstream\" }}\n\
             tls {{\n  cert_file: \"{CERTIFICATE}\"\n  key_file: \"{KEY}\"\n  \
             ca_file: \"{AUTHORITY}\"\n  verify_and_map: true\n  timeout: 5\n}}\n\
             authorization {{\n  users = [\n{users}  ]\n}}\n"
        )
    }
}

/// Returns the user of an identity, with what it may say and hear.
fn user(IdentityFile { role, name }: &IdentityFile) -> String {
    let inbox = format!("{}.>", inbox_of(name));
    let (says, hears) = match role {
        Role::Coordinator => (
            vec![to_agent("*"), "weir.run.>".to_owned(), "$JS.API.>".to_owned()],
            vec![from_agent("*"), progress_of("*"), inbox],
        ),
        Role::Agent => {
            let kept = [result_of(name), ending_of(name), intervals_of(name)];
            let kept = kept.map(|kept| format!("weir.run.*.{kept}.>"));
            let own = [from_agent(name), progress_of(name), "$JS.API.STREAM.MSG.GET.*".to_owned()];
            (own.into_iter().chain(kept).collect(), vec![to_agent(name), inbox])
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

fn make_directory(path: &Path) -> Result<()> {
    ensure!(!path.exists(), "{} is there already: give a new directory", path.display());
    let made = DirBuilder::new().mode(0o700).create(path);
    made.with_context(|| format!("failed to make the directory {}", path.display()))
}

/// Writes a new file that only this user can read.
fn write(path: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(agents: &[&str]) -> FleetPlan {
        let agents = agents.iter().map(|name| (*name).to_owned()).collect();
        FleetPlan { agents, hosts: Vec::new(), valid: Duration::from_hours(1) }
    }

    #[test]
    fn names_are_unique_and_fit_for_subjects() {
        plan(&["gen-1", "gen-2"]).check_names().expect("they are");
        for wrong in [&[][..], &[""], &["a.b"], &["*"], &["a", "a"], &["viewer"], &["A"]] {
            assert!(plan(wrong).check_names().is_err(), "{wrong:?}");
        }
    }

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
