//! Certificates for the archive's hosts, made when the server starts and gone when it ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::error::Error;

/// Two weeks: Chromium refuses certificates of more than 398 days, and of the future.
const VALID_DAYS: i64 = 14;

/// An extension that nobody knows, with padding in it; from the arc of examples (2.999).
const PADDING: [u64; 3] = [2, 999, 1];
/// What a certificate with it is larger by, besides the padding.
const PADDING_FRAME_BYTES: usize = 16;

/// A private authority and the certificates that it signed.
pub(crate) struct Certificates {
    by_name: BTreeMap<String, Arc<CertifiedKey>>,
    default: Arc<CertifiedKey>,
    /// SHA-256 of the intermediate's public key, base64: it is in each chain.
    pub spki: String,
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificates").field("names", &self.by_name.keys()).finish()
    }
}

impl Certificates {
    /// A certificate for each name, with chains of about `bytes`.
    ///
    /// One name a certificate: with more, browsers would use a connection to one host for others.
    pub fn new<'a>(
        names: impl IntoIterator<Item = &'a str>,
        bytes: usize,
    ) -> Result<Certificates, Error> {
        Self::make(names, bytes).map_err(|error| {
            Error::new(format!("cannot make certificates: {error}"), "host names as in URLs")
        })
    }

    fn make<'a>(
        names: impl IntoIterator<Item = &'a str>,
        bytes: usize,
    ) -> Result<Certificates, rcgen::Error> {
        let root_key = KeyPair::generate()?;
        let root = Issuer::new(authority("Loadpath replay root"), root_key);
        let intermediate_key = KeyPair::generate()?;
        let spki = intermediate_key.subject_public_key_info();
        let digest = sha256(&spki);
        let params = authority("Loadpath replay intermediate");
        let plain = params.signed_by(&intermediate_key, &root)?.der().len();
        let intermediate =
            padded(params.clone(), bytes / 2, plain).signed_by(&intermediate_key, &root)?;
        let issuer = Issuer::new(params, intermediate_key);
        let mut by_name = BTreeMap::new();
        for name in names {
            let key = KeyPair::generate()?;
            let params = leaf(name)?;
            let plain = params.signed_by(&key, &issuer)?.der().len();
            let target = bytes.saturating_sub(intermediate.der().len());
            let certificate = padded(params, target, plain).signed_by(&key, &issuer)?;
            let chain = vec![certificate.der().clone(), intermediate.der().clone()];
            by_name.insert(name.to_owned(), certified(chain, &key));
        }
        let default = by_name.values().next().expect("an archive has hosts").clone();
        Ok(Certificates { by_name, default, spki: BASE64_STANDARD.encode(digest) })
    }

    /// A configuration of TLS 1.3 for one protocol.
    pub fn server_config(self: &Arc<Self>, alpn: &[&[u8]]) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("ring has suites of TLS 1.3")
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        config
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // Addresses are not named (RFC 6066, section 3).
        let named = hello.server_name().and_then(|name| self.by_name.get(name));
        Some(named.unwrap_or(&self.default).clone())
    }
}

fn sha256(data: &[u8]) -> Vec<u8> {
    let provider = rustls::crypto::ring::default_provider();
    let mut suites = provider.cipher_suites.iter().filter_map(|suite| suite.tls13());
    let suite = suites.find(|suite| suite.common.hash_provider.output_len() == 32);
    let hash = suite.expect("TLS 1.3 has suites with SHA-256").common.hash_provider;
    hash.hash(data).as_ref().to_vec()
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid_now(&mut params);
    params
}

fn leaf(name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(vec![name.trim_matches(['[', ']']).to_owned()])?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    // RFC 5280 limits common names to 64 characters.
    params.distinguished_name.push(DnType::CommonName, name.chars().take(64).collect::<String>());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    valid_now(&mut params);
    Ok(params)
}

fn valid_now(params: &mut CertificateParams) {
    let now = time::OffsetDateTime::from(std::time::SystemTime::now());
    params.not_before = now - time::Duration::days(1);
    params.not_after = now + time::Duration::days(VALID_DAYS);
}

fn padded(mut params: CertificateParams, target: usize, plain: usize) -> CertificateParams {
    let missing = target.saturating_sub(plain + PADDING_FRAME_BYTES);
    if missing > 0 {
        let padding = CustomExtension::from_oid_content(&PADDING, vec![0x5A; missing]);
        params.custom_extensions.push(padding);
    }
    params
}

fn certified(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Arc<CertifiedKey> {
    let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = rustls::crypto::ring::sign::any_supported_type(&der).expect("a key of ring's own");
    Arc::new(CertifiedKey::new(chain, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_have_the_size_that_is_asked_for() {
        for bytes in [2500, 4000] {
            let made = Certificates::new(["a.example", "127.0.0.1", "[::1]"], bytes).unwrap();
            for (name, key) in &made.by_name {
                let size: usize = key.cert.iter().map(|der| der.len()).sum();
                assert!(size.abs_diff(bytes) < 24, "{name}: {size} for {bytes}");
            }
        }
    }

    #[test]
    fn a_small_chain_is_as_small_as_it_can_be() {
        let made = Certificates::new(["a.example"], 0).unwrap();
        let size: usize = made.default.cert.iter().map(|der| der.len()).sum();
        assert!(size < 1300, "{size}");
    }
}
