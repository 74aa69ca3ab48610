//! The HTTP client of all stores: responses are limited in size, redirects stay on the server, and no metadata service is queried, unless
//! allowed.

use crate::error::Refusal;
use crate::keys;
use futures_util::StreamExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey as Key, ClientOptions};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{ClientBuilder, NoProxy, Proxy, Url, tls::Certificate};
use std::time::Duration;

/// The maximum number of bytes read from the body of an HTTP error. The rest is dropped.
const MAX_ERROR: usize = 64 << 10;

/// The maximum size in bytes of a response that is not a range of a file: a page of a listing, or credentials.
const MAX_PAGE: usize = 32 << 20;

/// The maximum number of redirects of a request.
const MAX_REDIRECTS: usize = 10;

/// The permissions of clients.
#[derive(Clone, Copy, Debug)]
pub struct Connector {
    /// `true` if redirects may lead to other servers.
    pub allow_redirects: bool,
    /// `true` if metadata services of cloud machines may be queried for credentials.
    pub metadata_service: bool,
}

/// A marker for requests for pages of listings, whose keys are checked.
#[derive(Clone, Copy, Debug)]
pub struct Listing;

#[derive(Debug)]
struct Service {
    client: reqwest::Client,
    rules: Connector,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let fault =
            |source: Box<dyn std::error::Error + Send + Sync>| object_store::Error::Generic { store: "HTTP", source };
        let client = self.client(options).map_err(fault)?;
        Ok(HttpClient::new(Service { client, rules: *self }))
    }
}

impl Connector {
    /// Creates a client with the options set through environment variables, as `object_store` does, which cannot create one with another
    /// policy for redirects.
    fn client(self, options: &ClientOptions) -> Result<reqwest::Client, Box<dyn std::error::Error + Send + Sync>> {
        let text = |key| options.get_config_value(&key);
        let is = |key| {
            text(key).is_some_and(|value| matches!(&*value.to_ascii_lowercase(), "1" | "true" | "on" | "yes" | "y"))
        };
        let time = |key| text(key).map(|value| humantime::parse_duration(&value)).transpose();
        let set = |builder: ClientBuilder,
                   value: Option<Duration>,
                   set: fn(ClientBuilder, Duration) -> ClientBuilder| match value {
            Some(value) => set(builder, value),
            None => builder,
        };
        let mut builder = ClientBuilder::new()
            .user_agent(text(Key::UserAgent).unwrap_or_else(|| concat!("pte/", env!("CARGO_PKG_VERSION")).into()))
            .default_headers(options.get_default_headers().cloned().unwrap_or_default())
            .tls_danger_accept_invalid_certs(is(Key::AllowInvalidCertificates))
            .https_only(!is(Key::AllowHttp))
            .redirect(self.redirects());
        builder = set(builder, time(Key::Timeout)?, ClientBuilder::timeout);
        builder = set(builder, time(Key::ConnectTimeout)?, ClientBuilder::connect_timeout);
        builder = set(builder, time(Key::ReadTimeout)?, ClientBuilder::read_timeout);
        builder = set(builder, time(Key::PoolIdleTimeout)?, ClientBuilder::pool_idle_timeout);
        if let Some(connections) = text(Key::PoolMaxIdlePerHost) {
            builder = builder.pool_max_idle_per_host(connections.parse()?);
        }
        if is(Key::Http1Only) {
            builder = builder.http1_only();
        }
        if is(Key::Http2Only) {
            builder = builder.http2_prior_knowledge();
        }
        if let Some(url) = text(Key::ProxyUrl) {
            let except = text(Key::ProxyExcludes).and_then(|hosts| NoProxy::from_string(&hosts));
            builder = builder.proxy(Proxy::all(url)?.no_proxy(except));
        }
        if let Some(certificate) = text(Key::ProxyCaCertificate) {
            builder = builder.tls_certs_merge([Certificate::from_pem(certificate.as_bytes())?]);
        }
        Ok(builder.build()?)
    }

    fn redirects(self) -> Policy {
        Policy::custom(move |attempt: Attempt<'_>| {
            let refusal = match attempt.previous() {
                previous if previous.len() > MAX_REDIRECTS => Some(format!("more than {MAX_REDIRECTS} redirects")),
                [.., from] if !self.allow_redirects && !is_same_server(from, attempt.url()) => Some(format!(
                    "the server redirects to {}: --allow-redirects (PTE_ALLOW_REDIRECTS=1) follows it",
                    attempt.url().origin().ascii_serialization()
                )),
                _ => self.refusal(attempt.url().host_str()),
            };
            match refusal {
                Some(refusal) => attempt.error(Refusal(refusal)),
                None => attempt.follow(),
            }
        })
    }

    /// Returns the reason for refusing a host, if it is a metadata service.
    fn refusal(self, host: Option<&str>) -> Option<String> {
        const SERVICES: [&str; 4] = ["169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "metadata"];
        let is_service = host.is_some_and(|host| SERVICES.iter().any(|service| host.eq_ignore_ascii_case(service)));
        (is_service && !self.metadata_service).then(|| {
            "no credentials: set the variables of the store, or use --anonymous (PTE_ANONYMOUS=1) for public data, or \
             --metadata-service (PTE_METADATA_SERVICE=1) on a machine in a cloud"
                .to_owned()
        })
    }
}

/// Returns `true` if two URLs are on one server: the same host and port, or `https` after `http` on the same host.
fn is_same_server(from: &Url, to: &Url) -> bool {
    let is_upgrade = from.scheme() == "http" && to.scheme() == "https" && from.port().is_none() && to.port().is_none();
    from.host() == to.host() && (from.origin() == to.origin() || is_upgrade)
}

#[async_trait::async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some(refusal) = self.rules.refusal(request.uri().host()) {
            return Err(HttpError::new(HttpErrorKind::Unknown, Refusal(refusal)));
        }
        let is_range = request.headers().contains_key("range");
        let is_listing = request.extensions().get::<Listing>().is_some();
        let (mut parts, body) = self.client.call(request).await?.into_parts();
        if !parts.status.is_success() {
            let text = String::from_utf8_lossy(&start(body).await).into_owned();
            return Ok(HttpResponse::from_parts(parts, text.into()));
        }
        // `object` limits the bytes of a file.
        if is_range {
            return Ok(HttpResponse::from_parts(parts, body));
        }
        let mut page = whole(body).await?;
        if is_listing {
            let (good, bad) = keys::checked(page);
            parts.extensions.insert(bad);
            page = good;
        }
        Ok(HttpResponse::from_parts(parts, page.into()))
    }
}

/// Reads the start of the body of an error, as far as possible.
async fn start(body: HttpResponseBody) -> Vec<u8> {
    let (mut bytes, mut stream) = (Vec::new(), body.bytes_stream());
    while let (Some(Ok(part)), true) = (stream.next().await, bytes.len() < MAX_ERROR) {
        bytes.extend(part.iter().take(MAX_ERROR - bytes.len()));
    }
    bytes
}

/// Reads a whole body. Fails if it is too large.
async fn whole(body: HttpResponseBody) -> Result<Vec<u8>, HttpError> {
    let (mut bytes, mut stream) = (Vec::new(), body.bytes_stream());
    while let Some(part) = stream.next().await {
        let part = part?;
        if bytes.len() + part.len() > MAX_PAGE {
            let fault = format!("the server's answer has more than {} MiB", MAX_PAGE >> 20);
            return Err(HttpError::new(HttpErrorKind::Unknown, Refusal(fault)));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_stays_on_its_server_or_goes_to_https() {
        for (from, to, is_same) in [
            ("http://a/x", "http://a/y", true),
            ("http://a/x", "https://a/x", true),
            ("https://a/x", "http://a/x", false),
            ("http://a/x", "http://b/x", false),
            ("http://a:8000/x", "http://a:9000/x", false),
            ("http://a:8000/x", "https://a/x", false),
            ("https://a/x", "https://a:443/y", true),
            ("https://a/x", "https://a.b/x", false),
        ] {
            let found = from.parse::<Url>().ok().zip(to.parse().ok()).map(|(from, to)| is_same_server(&from, &to));
            assert_eq!(found, Some(is_same), "{from} to {to}");
        }
    }
}
