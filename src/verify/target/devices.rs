//! The SoC and the operating system of a device, beside those that delegates were compiled for.

use super::Target;
use super::missing::{Missing, Unknown};
use crate::analysis::{Analysis, Device};
use crate::delegate::delegate_at;
use alloc::string::String;
use alloc::vec::Vec;

/// Parses the numbers of a version; `None` if it is not one.
pub(super) fn version(text: &str) -> Option<Vec<u32>> {
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split('.').map(|part| Some(part).filter(is_number)?.parse().ok()).collect()
}

/// Checks that payloads for QNN were compiled for the device's SoC, and that its system is new enough for those of Core ML.
pub(super) fn check(analysis: &Analysis<'_>, target: &Target, missing: &mut Vec<Missing>, unknown: &mut Vec<Unknown>) {
    for opened in analysis.payloads() {
        for place in &opened.delegates {
            let (plan, backend) = delegate_at(analysis.pte(), *place);
            let (method, delegate) = (|| String::from(plan.name()), place.1);
            let device = Device::of(backend, None);
            // A graph that is compiled on the device runs on each that the SDK knows.
            let on_device = device.online_prepare == Some(true);
            if let (Some(available), "QnnBackend", false) = (&target.soc, backend.backend(), on_device) {
                match &device.soc {
                    Some(needed) if needed.eq_ignore_ascii_case(available) => {}
                    Some(needed) => missing.push(Missing::Soc {
                        method: method(),
                        delegate,
                        needed: needed.clone(),
                        available: available.clone(),
                    }),
                    None => unknown.push(Unknown::Accelerator { method: method(), delegate, what: "the SoC" }),
                }
            }
            let systems = [
                ("iOS", "the oldest iOS", &target.ios, device.ios),
                ("macOS", "the oldest macOS", &target.macos, device.macos),
            ];
            for (system, what, available, needed) in systems {
                let (Some(available), "CoreMLBackend") = (available, backend.backend()) else { continue };
                match needed {
                    Some(needed) if version(available) >= version(needed) => {}
                    Some(needed) => missing.push(Missing::System {
                        method: method(),
                        delegate,
                        system,
                        needed: needed.into(),
                        available: available.clone(),
                    }),
                    None => unknown.push(Unknown::Accelerator { method: method(), delegate, what }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(version("9") < version("11.2") && version("17.4") > version("17") && version("18") >= version("18"));
        for other in ["", "17.", "x", "-1", "+1", "17 beta", "99999999999"] {
            assert_eq!(version(other), None, "{other}");
        }
    }
}
