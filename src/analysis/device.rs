//! The devices that delegates were compiled for.

use crate::flatbuffer::read::{self, Limits};
use crate::schema::program::BackendDelegate;
use crate::schema::qnn::{QcomChipset, QnnExecuTorchBackendType, QnnExecuTorchOptions};
use alloc::{format, string::String, vec::Vec};
use core::fmt;

/// The device that a delegate was compiled for, as far as its settings and its payload state it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Device<'t> {
    /// The oldest version of iOS (and of iPadOS and tvOS) that runs it (Core ML).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ios: Option<&'static str>,
    /// The oldest version of macOS that runs it (Core ML).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macos: Option<&'static str>,
    /// The SoC, such as `SM8650` (QNN); for a model that is not known, its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soc: Option<String>,
    /// The processor of the SoC, such as `HTP` (QNN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<&'static str>,
    /// The architecture of the tensor processor, such as `V75` (QNN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The tightly coupled memory that it takes, in megabytes (QNN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vtcm_megabytes: Option<u32>,
    /// The numbers that it computes with: `quantized` or `fp16` (QNN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<&'static str>,
    /// `true` if the graph is compiled on the device (QNN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online_prepare: Option<bool>,
    /// The version of the SDK that wrote the payload, such as `v2.37.0` (QNN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk: Option<&'t str>,
    /// The accelerator, such as `ethos-u55-128` (Ethos-U).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<&'t str>,
    /// The system configuration of the compiler Vela, such as `Ethos_U55_High_End_Embedded` (Ethos-U).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_config: Option<&'t str>,
    /// The memory mode of the compiler Vela, such as `Shared_Sram` (Ethos-U).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mode: Option<&'t str>,
}

/// The versions of iOS and macOS that first read each version of the specification of Core ML, from version 1 (`coremltools/__init__.py`).
const SYSTEMS: [(&str, &str); 10] = [
    ("11", "10.13"),
    ("11.2", "10.13.2"),
    ("12", "10.14"),
    ("13", "10.15"),
    ("14", "11"),
    ("15", "12"),
    ("16", "13"),
    ("17", "14"),
    ("18", "15"),
    ("26", "26"),
];

impl<'t> Device<'t> {
    /// Finds the device in the settings of a delegate and in its payload, if that is at hand.
    pub(crate) fn of(delegate: &'t BackendDelegate<'_>, payload: Option<&'t [u8]>) -> Self {
        match delegate.backend() {
            "CoreMLBackend" => Self::core_ml(delegate),
            "QnnBackend" => Self { sdk: payload.and_then(qnn_sdk), ..Self::qnn(delegate) },
            "EthosUBackend" => Self::ethos_u(delegate),
            _ => Self::default(),
        }
    }

    fn core_ml(delegate: &BackendDelegate<'_>) -> Self {
        let version = text(delegate, "min_deployment_target").and_then(|version| version.parse::<usize>().ok());
        let systems = version.and_then(|version| SYSTEMS.get(version.checked_sub(1)?));
        let (ios, macos) = systems.copied().unzip();
        Self { ios, macos, ..Self::default() }
    }

    fn ethos_u(delegate: &'t BackendDelegate<'_>) -> Self {
        let flags = || text(delegate, "compile_flags").into_iter().flat_map(|flags| flags.split(' '));
        let flag = |option| flags().find_map(|flag| flag.strip_prefix(option)).filter(is_short);
        Self {
            accelerator: flag("--accelerator-config=").or_else(|| text(delegate, "target").filter(is_short)),
            system_config: flag("--system-config="),
            memory_mode: flag("--memory-mode="),
            ..Self::default()
        }
    }

    fn qnn(delegate: &BackendDelegate<'_>) -> Self {
        let Some(spec) = delegate.compile_spec("qnn_compile_spec") else { return Self::default() };
        let read = read::read_at::<QnnExecuTorchOptions<'_>>(0, spec, &Limits::default());
        let Ok((options, _)) = read else { return Self::default() };
        let (soc, backend) = (options.soc_info.unwrap_or_default(), options.backend_options.unwrap_or_default());
        let number = |chipset: QcomChipset| format!("{}", chipset.0);
        let is_htp = backend.backend_type == QnnExecuTorchBackendType::HTP;
        let tensor_processor = soc.htp_info.filter(|_| is_htp);
        let known = soc.soc_model != QcomChipset::UNKNOWN_SM;
        Self {
            soc: known.then(|| soc.soc_model.name().map_or_else(|| number(soc.soc_model), Into::into)),
            processor: backend.backend_type.name().filter(|_| backend.backend_type.0 != 0),
            architecture: tensor_processor.as_ref().map(|info| format!("V{}", info.htp_arch)),
            vtcm_megabytes: tensor_processor.as_ref().map(|info| info.vtcm_size_in_mb),
            precision: backend.htp_options.filter(|_| is_htp).and_then(|options| match options.precision {
                0 => Some("quantized"),
                1 => Some("fp16"),
                _ => None,
            }),
            online_prepare: Some(options.online_prepare),
            ..Self::default()
        }
    }

    /// Returns `true` if nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the value of a setting that is text.
fn text<'t>(delegate: &'t BackendDelegate<'_>, key: &str) -> Option<&'t str> {
    core::str::from_utf8(delegate.compile_spec(key)?).ok()
}

fn is_short(name: &&str) -> bool {
    !name.is_empty() && name.len() < 100
}

/// Finds the version of the SDK in the first 256 KiB of a context binary, where it is text such as `v2.37.0.250724175447_124859`.
fn qnn_sdk(payload: &[u8]) -> Option<&str> {
    const SEARCHED: usize = 256 << 10;
    let payload = payload.get(..SEARCHED).unwrap_or(payload);
    let starts = payload.iter().enumerate().filter(|(_, byte)| **byte == b'v').map(|(index, _)| index);
    starts.filter_map(|start| payload.get(start..)).find_map(|rest| {
        let is_part = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
        let length = rest.iter().skip(1).take(40).take_while(is_part).count();
        let version = core::str::from_utf8(rest.get(..=length)?).ok()?;
        let (version, date) = version.rsplit_once('.')?;
        let is_one = date.len() == 12 && version.split('.').skip(1).count() == 2;
        (is_one && version.len() > 5).then_some(version)
    })
}

/// Writes the parts that are known, as `SM8650, HTP V75, 8 MB of VTCM, quantized, compiled ahead of time, SDK v2.37.0`.
impl fmt::Display for Device<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let architecture = self.architecture.as_deref().map(|architecture| format!(" {architecture}"));
        let prepared = |online| if online { "compiled on the device" } else { "compiled ahead of time" };
        let parts = [
            self.ios.map(|version| format!("iOS {version} or newer")),
            self.macos.map(|version| format!("macOS {version} or newer")),
            self.soc.clone(),
            self.processor.map(|processor| format!("{processor}{}", architecture.unwrap_or_default())),
            self.vtcm_megabytes.map(|size| format!("{size} MB of VTCM")),
            self.precision.map(Into::into),
            self.online_prepare.map(|online| prepared(online).into()),
            self.sdk.map(|version| format!("SDK {version}")),
            self.accelerator.map(Into::into),
            self.system_config.map(Into::into),
            self.memory_mode.map(Into::into),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<String>>().join(", "))
    }
}

#[cfg(all(test, feature = "write"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::file::style::WriteStyle;
    use crate::schema::program::CompileSpec;
    use crate::schema::qnn::{HtpInfo, QnnExecuTorchBackendOptions, QnnExecuTorchHtpBackendOptions, SocInfo};
    use alloc::{string::ToString, vec};

    fn delegate(id: &'static str, specs: Vec<(&'static str, &'static [u8])>) -> BackendDelegate<'static> {
        let spec = |(key, value): (&'static str, &'static [u8])| CompileSpec {
            key: Some(key.into()),
            value: Some(value.into()),
        };
        let compile_specs = Some(specs.into_iter().map(spec).collect());
        BackendDelegate { id: Some(id.into()), compile_specs, ..Default::default() }
    }

    fn qnn_spec(backend_type: QnnExecuTorchBackendType, soc_model: QcomChipset, online_prepare: bool) -> &'static [u8] {
        let htp_info = Some(HtpInfo { htp_arch: 75, vtcm_size_in_mb: 8 });
        let htp_options = Some(QnnExecuTorchHtpBackendOptions { precision: 1, ..Default::default() });
        let options = QnnExecuTorchOptions {
            soc_info: Some(SocInfo { soc_model, htp_info }),
            backend_options: Some(QnnExecuTorchBackendOptions { backend_type, htp_options }),
            online_prepare,
            ..Default::default()
        };
        let body = WriteStyle::FLATC.encode(&options, 0).unwrap();
        let mut bytes = body.head(b"\0\0\0\0", 0).unwrap();
        body.parts().for_each(|part| bytes.extend_from_slice(part));
        bytes.leak()
    }

    #[track_caller]
    fn check(id: &'static str, specs: Vec<(&'static str, &'static [u8])>, payload: &[u8], shown: &str) {
        assert_eq!(Device::of(&delegate(id, specs), Some(payload)).to_string(), shown);
    }

    #[test]
    fn settings_of_each_backend_state_its_device() {
        check("CoreMLBackend", vec![("min_deployment_target", b"9")], b"", "iOS 18 or newer, macOS 15 or newer");
        check("CoreMLBackend", vec![("min_deployment_target", b"0")], b"", "");
        check("CoreMLBackend", vec![("min_deployment_target", b"99")], b"", "");
        check("EthosUBackend", vec![("target", b"ethos-u55-64")], b"", "ethos-u55-64");
        let flags = b"--x --accelerator-config=ethos-u85-256 --system-config=Ethos_U85 --memory-mode=Sram_Only";
        let specs = vec![("target", &b"ethos-u55-64"[..]), ("compile_flags", flags)];
        check("EthosUBackend", specs.clone(), b"", "ethos-u85-256, Ethos_U85, Sram_Only");
        check("Other", specs, b"", "");
        check("QnnBackend", vec![("qnn_compile_spec", b"\x04")], b"....v2.37.0.250724175447_1", "SDK v2.37.0");
        let known = qnn_spec(QnnExecuTorchBackendType::HTP, QcomChipset::SM8650, false);
        let shown = "SM8650, HTP V75, 8 MB of VTCM, fp16, compiled ahead of time";
        check("QnnBackend", vec![("qnn_compile_spec", known)], b"", shown);
        let other = qnn_spec(QnnExecuTorchBackendType::GPU, QcomChipset(1234), true);
        check("QnnBackend", vec![("qnn_compile_spec", other)], b"", "1234, GPU, compiled on the device");
        for other in [&b"v2.37.0"[..], b"v2.37.0.25", b"vvv", b"v........250724175447"] {
            check("QnnBackend", vec![], other, "");
        }
    }
}
