//! Properties of a replaced file that the new file gets, besides its bytes: permissions, owner, group, extended attributes, access control
//! lists.

use alloc::string::String;
use alloc::vec::Vec;
use std::path::Path;
use std::{fs, io};

/// Gives a new file the properties of the file that it replaces. Returns a text for each property that it does not get, in the form "the owner
/// 1000: permission denied".
///
/// Fails only if the permissions cannot be set, since others could then read the new file.
pub(super) fn keep(old: &Path, new: &fs::File) -> io::Result<Vec<String>> {
    let found = fs::metadata(old)?;
    #[cfg(unix)]
    return unix::keep(old, &found, new);
    #[cfg(not(unix))]
    {
        new.set_permissions(found.permissions())?;
        let others = "other hard links, its access control list and its alternate streams, if it has any";
        Ok(cfg!(windows).then(|| others.into()).into_iter().collect())
    }
}

#[cfg(unix)]
mod unix {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    use std::path::Path;
    use std::{fs, io};

    pub(super) fn keep(old: &Path, found: &fs::Metadata, new: &fs::File) -> io::Result<Vec<String>> {
        let created = new.metadata()?;
        let mut lost = Vec::new();
        if found.uid() != created.uid() {
            if let Err(error) = fchown(new, Some(found.uid()), None) {
                lost.push(format!("the owner {}: {error}", found.uid()));
            }
        }
        let mut group_is_kept = true;
        if found.gid() != created.gid() {
            if let Err(error) = fchown(new, None, Some(found.gid())) {
                lost.push(format!("the group {}: {error}", found.gid()));
                group_is_kept = false;
            }
        }
        let list_is_kept = attributes(old, new, &mut lost);
        let mut mode = found.permissions().mode() & 0o7777;
        if !group_is_kept || !list_is_kept {
            // These bits were meant for another group, or are the upper bound of a list: the new file's group gets no more than everyone.
            mode &= !0o2070 | (mode & 0o7) << 3;
        }
        new.set_permissions(fs::Permissions::from_mode(mode))?;
        let links = found.nlink();
        if links > 1 {
            let (other, keep) = if links == 2 { ("1 other name", "keeps") } else { ("other names", "keep") };
            lost.push(format!("its hard links: {other} {keep} the old content"));
        }
        Ok(lost)
    }

    /// Copies extended attributes, among them Linux's access control lists. Returns `false` if such a list is lost.
    #[cfg(all(feature = "system", any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    fn attributes(old: &Path, new: &fs::File, lost: &mut Vec<String>) -> bool {
        use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr, getxattr, listxattr};
        use rustix::io::Errno;
        use std::ffi::CStr;

        /// The largest list and, on Linux, the largest value.
        const MAX_SIZE: usize = 64 << 10;
        const ACCESS_LIST: &CStr = c"system.posix_acl_access";
        /// Signatures of the old bytes.
        const OF_BYTES: [&CStr; 2] = [c"security.ima", c"security.evm"];

        let (mut names, mut value, mut current) =
            (alloc::vec![0; MAX_SIZE], alloc::vec![0; MAX_SIZE], alloc::vec![0; MAX_SIZE]);
        let size = match listxattr(old, &mut names[..]) {
            Ok(size) => size,
            Err(Errno::NOTSUP | Errno::NOSYS) => 0,
            Err(error) => {
                lost.push(format!("its extended attributes: {error}"));
                0
            }
        };
        let names = names.get(..size).unwrap_or_default();
        let mut list_is_kept = true;
        let mut has_list = false;
        for name in names.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok()) {
            let is_list = name == ACCESS_LIST;
            has_list |= is_list;
            if OF_BYTES.contains(&name) {
                continue;
            }
            let copied = getxattr(old, name, &mut value[..]).and_then(|size| {
                let value = value.get(..size).unwrap_or_default();
                let is_set =
                    fgetxattr(new, name, &mut current[..]).is_ok_and(|size| current.get(..size) == Some(value));
                if is_set { Ok(()) } else { fsetxattr(new, name, value, XattrFlags::empty()) }
            });
            if let Err(error) = copied {
                list_is_kept &= !is_list;
                lost.push(match is_list {
                    true => format!("its access control list: {error}"),
                    false => format!("the extended attribute {}: {error}", name.to_string_lossy()),
                });
            }
        }
        // The folder's default list is for new files.
        if !has_list && fgetxattr(new, ACCESS_LIST, &mut current[..]).is_ok() {
            if let Err(error) = fremovexattr(new, ACCESS_LIST) {
                lost.push(format!("having no access control list: {error}"));
            }
        }
        #[cfg(target_vendor = "apple")]
        lost.push("its access control list, if it has one".into());
        list_is_kept
    }

    #[cfg(not(all(feature = "system", any(target_os = "linux", target_os = "android", target_vendor = "apple"))))]
    fn attributes(_: &Path, _: &fs::File, lost: &mut Vec<String>) -> bool {
        lost.push("its extended attributes and its access control list, if it has any".into());
        true
    }
}
