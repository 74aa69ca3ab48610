//! Hostile web servers: reading and listing end with an error, after few requests and bytes.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use executorch_format_stores::{Access, Error, Extent, Stores, wait};
use executorch_format_support::hostile_server::{HostileServer, Mode};
use executorch_format_support::server::Server;
use futures_util::TryStreamExt;
use std::time::Duration;

/// Returns small limits.
fn access() -> Access {
    let mut access = Access::default();
    (access.retries, access.timeout) = (1, Duration::from_secs(1));
    (access.max_keys, access.list_timeout) = (20_000, Duration::from_secs(5));
    access
}

fn program() -> Vec<u8> {
    std::fs::read(executorch_format_support::data().join("1.5.1/linear/linear.pte")).unwrap()
}

fn open(access: Access, url: &str) -> Result<u64, Error> {
    wait(Stores::new(access).open(url, Extent::Graphs)).map(|file| file.size())
}

fn list(url: &str) -> Result<Vec<String>, Error> {
    let stores = Stores::new(access());
    wait(stores.list(url)?.map_ok(|found| found.place.name).try_collect())
}

/// The maximum number of bytes in socket buffers, in addition to those that are read.
const BUFFERS: u64 = 32 << 20;

#[test]
fn the_body_of_an_error_is_read_only_partly() {
    for (status, expected) in [(404, "there is no such file"), (400, "400"), (403, "access denied"), (500, "500")] {
        let server = HostileServer::start(Mode::EndlessError(status), program());
        let error = open(access(), &server.url("x.pte")).unwrap_err().to_string();
        assert!(error.contains(expected), "{status}: {error}");
        assert!(error.chars().count() < 1200, "{status}: {} characters", error.chars().count());
        let (requests, sent) = (server.requests(), server.sent());
        assert!(requests <= 4 && sent < requests * BUFFERS, "{status}: {requests} requests, {sent} bytes");
    }
}

#[test]
fn an_endless_file_or_page_is_an_error() {
    let server = HostileServer::start(Mode::EndlessFile, program());
    assert_eq!(open(access(), &server.url("x.pte")), Err(Error::NoRanges));
    assert!(server.requests() <= 2 && server.sent() < 2 * BUFFERS, "{} bytes", server.sent());
    let server = HostileServer::start(Mode::EndlessPage, program());
    let mut access = access();
    access.timeout = Duration::from_secs(60);
    let stores = Stores::new(access);
    let listed = stores.list(&server.url("models")).unwrap().map_ok(|found| found.place.name);
    let error = wait(listed.try_collect::<Vec<_>>()).unwrap_err().to_string();
    assert_eq!(error, "the server's answer has more than 32 MiB");
    assert!(server.sent() < (32 << 20) + BUFFERS, "{} bytes", server.sent());
}

#[test]
fn a_page_that_arrives_byte_by_byte_is_an_error() {
    let server = HostileServer::start(Mode::SlowPage, program());
    assert!(list(&server.url("models")).is_err());
    assert!(server.requests() <= 2);
}

#[test]
fn redirects_stay_on_the_server_unless_others_are_allowed() {
    let other = Server::start();
    other.put("x.pte", program());
    let port: u16 = other.url("").trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    let server = HostileServer::start(Mode::RedirectAway(port), program());
    let error = open(access(), &server.url("x.pte")).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "the server redirects to http://127.0.0.1:{port}: --allow-redirects (PTE_ALLOW_REDIRECTS=1) follows it"
        )
    );
    assert_eq!(other.spent().0, 0, "no request was sent there");
    let mut allowed = access();
    allowed.allow_redirects = true;
    assert_eq!(open(allowed.clone(), &server.url("x.pte")), Ok(program().len() as u64));
    let server = HostileServer::start(Mode::RedirectForEver, program());
    assert_eq!(open(access(), &server.url("x.pte")), Err(Error::Failed("more than 10 redirects".into())));
    // A request on a connection that the server closes is repeated once.
    assert!((11..=12).contains(&server.requests()), "{}", server.requests());
    let server = HostileServer::start(Mode::RedirectToMetadata, program());
    let error = open(allowed, &server.url("x.pte")).unwrap_err().to_string();
    assert!(error.starts_with("no credentials: ") && server.requests() <= 2, "{error}, {}", server.requests());
}

#[test]
fn a_url_refers_to_exactly_one_key() {
    for url in [
        "s3://bucket/../x.pte",
        "s3://bucket/a/./x.pte",
        "s3://bucket/a/%2e%2E/x.pte",
        "gs://bucket/a//x.pte",
        "s3://bucket/a\nb.pte",
    ] {
        let error = open(access(), url).unwrap_err();
        assert!(matches!(error, Error::Url(_)), "{url}: {error}");
    }
}
