//! Connections to stores: credentials, endpoints, limits.

use crate::client::Connector;
use crate::error::{Error, Result};
use executorch_format::PROBE_SIZE;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::list::PaginatedListStore;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};
use std::sync::Arc;
use std::time::Duration;
use url::{Position, Url};

/// Limits, sizes and permissions of requests. Credentials, endpoints and other settings come from the environment variables that
/// the `object_store` crate reads: `AWS_…`, `GOOGLE_…`, `AZURE_…`; proxies come from `HTTP_PROXY` and `HTTPS_PROXY`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// The maximum time of one request with its response, which has at most 8 MiB.
    pub timeout: Duration,
    /// The number of times that a failed request is repeated.
    pub retries: usize,
    /// The size in bytes of the first request for a file, whose kind is not known yet. The default includes the metadata of most programs.
    /// Ranges whose distance is at most half of this are read together.
    pub first_read: u64,
    /// The maximum number of keys in a listing. A page without keys counts as 1,000 keys.
    pub max_keys: u64,
    /// The maximum total time of the requests of a listing.
    pub list_timeout: Duration,
    /// `true` if requests are sent without credentials, for public data.
    pub anonymous: bool,
    /// `true` if metadata services of cloud machines may be queried for credentials when there are no others.
    pub metadata_service: bool,
    /// `true` if redirects to other servers are followed.
    pub allow_redirects: bool,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retries: 5,
            first_read: 64 << 10,
            max_keys: 10_000_000,
            list_timeout: Duration::from_secs(600),
            anonymous: false,
            metadata_service: false,
            allow_redirects: false,
        }
    }
}

/// A store, and the way to list its keys.
#[derive(Clone)]
pub(crate) struct Connection {
    pub store: Arc<dyn ObjectStore>,
    /// `None` for a web server, which lists all files at once.
    pub pages: Option<Arc<dyn PaginatedListStore>>,
}

impl Connection {
    fn paged<S: ObjectStore + PaginatedListStore>(store: S) -> Self {
        let store = Arc::new(store);
        Self { pages: Some(Arc::clone(&store) as _), store }
    }
}

impl Access {
    /// Reads the values from the variables `PTE_TIMEOUT` (seconds), `PTE_RETRIES`, `PTE_FIRST_READ` (bytes), `PTE_MAX_KEYS`,
    /// `PTE_LIST_TIMEOUT` (seconds), and, if they are 1, `PTE_ANONYMOUS`, `PTE_METADATA_SERVICE` and `PTE_ALLOW_REDIRECTS`.
    pub fn from_env() -> Result<Self> {
        let mut access = Self::default();
        if let Some(seconds) = number("PTE_TIMEOUT")? {
            access.timeout = Duration::from_secs(seconds.max(1));
        }
        if let Some(retries) = number("PTE_RETRIES")? {
            access.retries = usize::try_from(retries).unwrap_or(usize::MAX);
        }
        if let Some(bytes) = number("PTE_FIRST_READ")? {
            access.first_read = bytes.max(PROBE_SIZE as u64);
        }
        if let Some(keys) = number("PTE_MAX_KEYS")? {
            access.max_keys = keys;
        }
        if let Some(seconds) = number("PTE_LIST_TIMEOUT")? {
            access.list_timeout = Duration::from_secs(seconds.max(1));
        }
        let is_set = |name| Ok::<_, Error>(number(name)?.is_some_and(|number| number > 0));
        access.anonymous = is_set("PTE_ANONYMOUS")?;
        access.metadata_service = is_set("PTE_METADATA_SERVICE")?;
        access.allow_redirects = is_set("PTE_ALLOW_REDIRECTS")?;
        Ok(access)
    }

    fn retry(&self) -> RetryConfig {
        let backoff =
            BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: Duration::from_secs(10), base: 2.0 };
        // No request is repeated after this total time.
        let retry_timeout = self.timeout.saturating_mul(2);
        RetryConfig { backoff, max_retries: self.retries, retry_timeout }
    }

    fn timeout(&self) -> String {
        format!("{} seconds", self.timeout.as_secs())
    }

    /// Returns the store of a URL. Sends no request.
    pub(crate) fn store(&self, url: &Url) -> Result<Connection> {
        let connector = Connector { allow_redirects: self.allow_redirects, metadata_service: self.metadata_service };
        // Fails if a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(match url.scheme() {
            "s3" | "s3a" => {
                let key = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
                let mut builder = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(self.retry());
                builder = builder.with_http_connector(connector);
                if self.anonymous {
                    builder = builder.with_skip_signature(true);
                }
                if builder.get_config_value(&key).is_none() {
                    builder = builder.with_config(key, self.timeout());
                }
                Connection::paged(builder.build()?)
            }
            "gs" => {
                let key = GoogleConfigKey::Client(ClientConfigKey::Timeout);
                let mut builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str()).with_retry(self.retry());
                builder = builder.with_http_connector(connector);
                if self.anonymous {
                    builder = builder.with_skip_signature(true);
                }
                if builder.get_config_value(&key).is_none() {
                    builder = builder.with_config(key, self.timeout());
                }
                Connection::paged(builder.build()?)
            }
            "az" | "azure" | "abfs" | "abfss" => {
                let key = AzureConfigKey::Client(ClientConfigKey::Timeout);
                let mut builder = MicrosoftAzureBuilder::from_env().with_url(url.as_str()).with_retry(self.retry());
                builder = builder.with_http_connector(connector);
                if self.anonymous {
                    builder = builder.with_skip_signature(true);
                }
                if builder.get_config_value(&key).is_none() {
                    builder = builder.with_config(key, self.timeout());
                }
                Connection::paged(builder.build()?)
            }
            "http" | "https" => {
                // The query is kept: it may be a signature.
                let mut base = format!("{}/", &url[..Position::BeforePath]);
                if let Some(query) = url.query() {
                    base = format!("{base}?{query}");
                }
                let builder = HttpBuilder::new()
                    .with_url(base)
                    .with_retry(self.retry())
                    .with_config(ClientConfigKey::Timeout, self.timeout())
                    .with_config(ClientConfigKey::AllowHttp, (url.scheme() == "http").to_string())
                    .with_http_connector(connector);
                Connection { store: Arc::new(builder.build()?), pages: None }
            }
            other => {
                return Err(Error::Url(format!("unknown scheme {other}://, expected s3, gs, az, https or http")));
            }
        })
    }
}

fn number(name: &str) -> Result<Option<u64>> {
    match std::env::var(name) {
        Ok(text) => match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Error::Url(format!("{name} is not a number"))),
        },
        Err(_) => Ok(None),
    }
}
