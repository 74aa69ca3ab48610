//! Connections to stores: credentials, endpoints, time limits.

use crate::error::{Error, Result};
use executorch_format::PROBE_SIZE;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};
use std::sync::Arc;
use std::time::Duration;
use url::{Position, Url};

/// Time limits and sizes of requests. Credentials, endpoints and other settings come from the environment variables that the `object_store`
/// crate reads: `AWS_…`, `GOOGLE_…`, `AZURE_…`; proxies come from `HTTP_PROXY` and `HTTPS_PROXY`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// The maximum time of one request with its answer, which has at most 8 MiB.
    pub timeout: Duration,
    /// How often a failed request is repeated.
    pub retries: usize,
    /// The size in bytes of the first request for a file, whose kind is not known yet. The default includes the metadata of most programs.
    /// Ranges that are at most half of this apart are read together.
    pub first_read: u64,
}

impl Default for Access {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), retries: 5, first_read: 64 << 10 }
    }
}

impl Access {
    /// Takes the values from the variables `PTE_TIMEOUT` (seconds), `PTE_RETRIES` and `PTE_FIRST_READ` (bytes).
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

    /// The store of a URL. Nothing is sent yet.
    pub(crate) fn store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        // Fails if it was done before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(match url.scheme() {
            "s3" | "s3a" => {
                let key = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
                let mut builder = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(self.retry());
                if builder.get_config_value(&key).is_none() {
                    builder = builder.with_config(key, self.timeout());
                }
                Arc::new(builder.build()?)
            }
            "gs" => {
                let key = GoogleConfigKey::Client(ClientConfigKey::Timeout);
                let mut builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str()).with_retry(self.retry());
                if builder.get_config_value(&key).is_none() {
                    builder = builder.with_config(key, self.timeout());
                }
                Arc::new(builder.build()?)
            }
            "az" | "azure" | "abfs" | "abfss" => {
                let key = AzureConfigKey::Client(ClientConfigKey::Timeout);
                let mut builder = MicrosoftAzureBuilder::from_env().with_url(url.as_str()).with_retry(self.retry());
                if builder.get_config_value(&key).is_none() {
                    builder = builder.with_config(key, self.timeout());
                }
                Arc::new(builder.build()?)
            }
            "http" | "https" => {
                // The query stays: it may be a signature.
                let mut base = format!("{}/", &url[..Position::BeforePath]);
                if let Some(query) = url.query() {
                    base = format!("{base}?{query}");
                }
                let builder = HttpBuilder::new()
                    .with_url(base)
                    .with_retry(self.retry())
                    .with_config(ClientConfigKey::Timeout, self.timeout())
                    .with_config(ClientConfigKey::AllowHttp, (url.scheme() == "http").to_string());
                Arc::new(builder.build()?)
            }
            other => {
                return Err(Error::Url(format!(
                    "{other}:// is no store that is known: expected s3, gs, az, https or http"
                )));
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
