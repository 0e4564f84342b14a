//! Certificates of our own making, good and bad.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_node::identity::authority::Keys;
use cahoots_node::identity::{
    Admit, Caller, ClientSecurity, Gate, KeyFiles, Name, Secret, ServeSecurity, Signer,
};
use time::{Duration, OffsetDateTime};

use super::FEDERATION;

/// A folder of keys for a coordinator on this machine.
pub(crate) struct Ring {
    pub folder: tempfile::TempDir,
    pub keys: Keys,
}

impl Ring {
    pub(crate) fn new() -> Ring {
        Ring::of(FEDERATION)
    }

    pub(crate) fn of(federation: &str) -> Ring {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::init(&folder.path().join("keys"), federation, &["127.0.0.1".into()], 30).unwrap();
        Ring { folder, keys }
    }

    pub(crate) fn path(&self, member: &str) -> PathBuf {
        self.folder.path().join("keys").join(member)
    }

    /// Whom a coordinator with these keys lets in.
    pub(crate) fn serve(&self, admit: Admit) -> ServeSecurity {
        let gate = Gate::open(KeyFiles::folder(&self.path("coordinator")), FEDERATION, admit).unwrap();
        ServeSecurity { gate: Some(Arc::new(gate)), admit, plain_text: false }
    }

    /// What a client with a certificate connects with.
    pub(crate) fn client(&self, client: u32) -> ClientSecurity {
        let folder = self.keys.client(client, 30).unwrap();
        shown(&folder, FEDERATION)
    }

    /// What a client without a certificate connects with.
    pub(crate) fn invited(&self, invitation: Option<&str>) -> ClientSecurity {
        let files = KeyFiles {
            authorities: self.path("authorities.pem"),
            revoked: self.path("revoked.pem"),
            ..KeyFiles::folder(Path::new("/nowhere"))
        };
        ClientSecurity {
            caller: Some(Arc::new(Caller::new(files, FEDERATION))),
            invitation: invitation.map(|text| Secret::parse(text).unwrap()),
            plain_text: false,
        }
    }

    /// A member's folder on a machine of its own, as it was copied last.
    pub(crate) fn copied(&self, member: &str, folder: &Path) -> PathBuf {
        let copy = self.folder.path().join("away").join(member);
        std::fs::create_dir_all(&copy).unwrap();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
        }
        copy
    }

    /// The authority that signs now.
    pub(crate) fn signer(&self) -> Signer {
        let read = |name: &str| std::fs::read_to_string(self.path("authority-1").join(name)).unwrap();
        Signer::read(read("certificate.pem"), read("key.pem")).unwrap()
    }

    /// A member's folder with a certificate that says something else: whose, for which hosts, valid for these days from now.
    pub(crate) fn forge(&self, signer: &Signer, name: &Name, hosts: &[&str], days: (i64, i64)) -> PathBuf {
        let now = OffsetDateTime::now_utc();
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).into()).collect();
        let (from, until) = (now + Duration::days(days.0), now + Duration::days(days.1));
        let signed = signer.sign(name, &hosts, from, until).unwrap();
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap().keep();
        let files = KeyFiles::folder(&folder);
        std::fs::write(&files.certificate, &signed.certificate).unwrap();
        std::fs::write(&files.key, &signed.key).unwrap();
        std::fs::copy(self.path("authorities.pem"), &files.authorities).unwrap();
        std::fs::copy(self.path("revoked.pem"), &files.revoked).unwrap();
        folder
    }
}

/// Someone else's authority, under the same name.
pub(crate) fn other_signer() -> Signer {
    let now = OffsetDateTime::now_utc();
    Signer::new(FEDERATION, now - Duration::days(1), now + Duration::days(30)).unwrap()
}

/// What a client with this folder connects with.
pub(crate) fn shown(folder: &Path, federation: &str) -> ClientSecurity {
    let caller = Caller::new(KeyFiles::folder(folder), federation);
    ClientSecurity { caller: Some(Arc::new(caller)), ..ClientSecurity::default() }
}

/// The number of a certificate.
pub(crate) fn serial(pem: &str) -> Vec<u8> {
    use rustls::pki_types::pem::PemObject;
    let der = rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    cahoots_node::identity::Certificate::read(&der).unwrap().serial
}
