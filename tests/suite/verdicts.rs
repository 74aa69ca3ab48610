//! The verdict on a file, and the answers that are views of it: they cannot disagree.

use executorch_format::testing::{Choices, valid_pair, valid_program};
use executorch_format::verify::{
    Behaviour, Check, FEATURES, Level, Library, Outcome, REASONS, RULES, Release, Severity, Target, Verdict,
    releases_of_error,
};
use executorch_format::{Analysis, Error, Model, Ptd, Pte};
use executorch_format_support::fixtures::{fixture, scaled, some_fixtures, step};
use executorch_format_support::random::Random;
use executorch_format_support::{corpus, data};

/// Asks every question about a file, and compares the verdicts.
fn agree(name: &str, model: &Result<Model<'_>, Error>, data: &[&Ptd<'_>]) -> Option<Outcome> {
    let target = Target::default();
    let check = match model {
        Ok(model) => model.check(Level::Strict, data),
        Err(error) => Check::of_error(error),
    };
    let releases = match model {
        Ok(model) => model.releases(&target, Some(data)),
        Err(error) => releases_of_error(error),
    };
    assert_eq!(releases.clone().into_verdict(), check.verdict, "{name}: verify --runtime");
    let verdict = check.verdict?;
    is_sound(name, &verdict);
    for release in &releases.releases {
        is_sound(name, &release.verdict);
        let Verdict { outcome, .. } = release.verdict;
        let is_right = match release.behaviour {
            Behaviour::Refuses | Behaviour::Dies => outcome <= Outcome::Missing,
            Behaviour::Miscomputes => outcome <= Outcome::Miscomputes,
            Behaviour::Unknown => outcome <= Outcome::Unknown,
            _ => outcome != Outcome::DoesNotLoad,
        };
        assert!(is_right, "{name}: {release:?}");
    }
    // A finding with an outcome is among the causes, and a cause is a finding or one of the reasons that findings do not have.
    for finding in &check.findings {
        let rule = RULES.iter().find(|rule| rule.name == finding.rule).unwrap();
        if rule.outcome.is_bad() && finding.severity == Severity::Error && rule.level == Level::Strict {
            assert!(verdict.outcome.is_bad(), "{name}: {finding} but {verdict}");
        }
    }
    for cause in &verdict.because {
        let is_found = check.findings.iter().any(|finding| finding.rule == cause.name);
        let is_reason = REASONS.iter().any(|reason| reason.name == cause.name);
        let is_feature = FEATURES.iter().any(|feature| feature.name == cause.name);
        assert!(is_found || is_feature || is_reason, "{name}: {cause}");
    }
    if let Ok(model) = model {
        assert_eq!(model.verdict(&target, data), Some(verdict.clone()), "{name}: verdict");
    }
    let Ok(Model::Pte(pte)) = model else { return Some(verdict.outcome) };
    fits(name, pte, data, &target, &verdict);
    let (portable, optimized, wheel) = (Library::Portable, Library::Optimized, Library::PythonWheel);
    for (libraries, release) in [(vec![portable, optimized], "1.5"), (vec![portable], "1.5"), (vec![wheel], "0.5")] {
        let release: Release = release.parse().unwrap();
        let target = Target::default().with_runtime(Some(release)).with_libraries(Some(libraries));
        let analysis = Analysis::new(pte).with_data(data.iter().copied());
        let of_release = analysis.releases(&target).releases.into_iter().find(|verdict| verdict.release == release);
        fits(name, pte, data, &target, &of_release.unwrap().verdict);
    }
    Some(verdict.outcome)
}

/// Compares what a device lacks with the verdict.
fn fits(name: &str, pte: &Pte<'_>, data: &[&Ptd<'_>], target: &Target, verdict: &Verdict) {
    let fit = Analysis::new(pte).with_data(data.iter().copied()).fit(target);
    assert_eq!(fit.verdict, *verdict, "{name}: fit {target:?}");
    assert_eq!(fit.missing.is_empty(), !verdict.outcome.is_bad(), "{name}: {target:?}: {fit:?}");
    if verdict.outcome == Outcome::Runs {
        assert!(fit.unknown.is_empty(), "{name}: {fit:?}");
    } else {
        assert!(!fit.unknown.is_empty() || !fit.missing.is_empty(), "{name}: {fit:?}");
    }
}

/// Checks that the first cause decides.
fn is_sound(name: &str, verdict: &Verdict) {
    assert!(verdict.because.is_sorted_by_key(|cause| cause.outcome), "{name}: {verdict:?}");
    let first = verdict.because.first().map_or(Outcome::Runs, |cause| cause.outcome);
    assert_eq!(verdict.outcome, first, "{name}");
    assert!(verdict.because.iter().all(|cause| cause.outcome != Outcome::Runs), "{name}: {verdict:?}");
}

fn alone(name: &str, bytes: &[u8]) -> Option<Outcome> {
    agree(name, &Model::parse(bytes), &[])
}

#[test]
fn all_answers_about_a_file_have_the_same_verdict() {
    for fixture in some_fixtures() {
        alone(&fixture.name(), fixture.bytes());
        let data: Vec<_> = fixture.data_files().iter().map(|path| std::fs::read(path).unwrap()).collect();
        let ptds: Vec<_> = data.iter().filter_map(|bytes| Ptd::parse(bytes).ok()).collect();
        agree(&fixture.name(), &Model::parse(fixture.bytes()), &ptds.iter().collect::<Vec<_>>());
    }
    for (name, bytes) in corpus::files().into_iter().step_by(step()) {
        alone(&name, &bytes);
    }
}

#[test]
fn all_answers_about_a_random_program_have_the_same_verdict() {
    let mut random = Random::new(51);
    for case in 0..scaled(300) {
        let bytes: Vec<u8> = (0..200).map(|_| random.number() as u8).collect();
        let mut choices = Choices::new(&bytes);
        if let (0, Ok((pte, ptd))) = (case % 3, valid_pair(&mut choices)) {
            agree("random pair", &Ok(Model::Pte(pte)), &[&ptd]);
        } else if let Ok(pte) = valid_program(&mut choices) {
            let file = pte.image().unwrap().to_vec().unwrap();
            alone("random program", &file);
            // Damage.
            for _ in 0..4 {
                let mut file = file.clone();
                let at = random.below(file.len());
                file[at] ^= 1 << random.below(8);
                alone("damaged program", &file);
            }
        }
    }
}

#[test]
fn verdicts_are_what_the_runtime_does() {
    use Outcome::{Dies, Miscomputes, Missing, RefusesCall, Runs, Unknown};
    for (file, outcome) in [
        ("1.5.1/add/add.pte", Runs),
        ("1.5.1/linear_xnnpack/linear_xnnpack.pte", Runs),
        ("1.5.1/evalue_custom/evalue_custom.pte", Unknown),
        ("1.5.1/blob_inline/blob_inline.pte", Unknown),
        ("1.5.1/add_mul_external/add_mul_external.pte", Missing),
        ("kernels/bicubic_aa.pte", Missing),
        ("kernels/add_mixed.pte", RefusesCall),
        ("kernels/count_wrong.pte", RefusesCall),
        ("kernels/kind_double_for_int.pte", Dies),
        ("kernels/softmax_cl_last.pte", Dies),
        ("kernels/mul_cl_broadcast.pte", Miscomputes),
        ("kernels/dropout_training_mode.pte", Miscomputes),
        ("flow/two_conds.pte", Miscomputes),
        ("flow/view_of_channels_last.pte", Miscomputes),
        ("flow/corrupts_heap.pte", Dies),
        ("flow/free_then_use.pte", Dies),
        ("flow/jump_forever.pte", Dies),
        ("flow/safe_cond.pte", Runs),
        ("malformed/CVE-2025-54951.pte", Outcome::DoesNotLoad),
    ] {
        let bytes = std::fs::read(data().join(file)).unwrap();
        assert_eq!(alone(file, &bytes), Some(outcome), "{file}");
    }
}

#[test]
fn limits_of_memory_come_after_what_goes_wrong_in_a_run() {
    let files = [fixture("1.5.1/add_mul/add_mul.pte"), fixture("flow/two_conds.pte")];
    for (file, outcome) in files.iter().zip([Outcome::DoesNotFit, Outcome::Miscomputes]) {
        let pte = Pte::parse(file.bytes()).unwrap();
        let small = [Target::default().with_arena(Some(0)), Target::default().with_memories(Some([(1, 0)].into()))];
        for target in small {
            let verdict = Analysis::new(&pte).verdict(&target);
            assert_eq!(verdict.outcome, outcome);
            assert_eq!(verdict.because.last().unwrap().name, "memory");
        }
    }
}

#[test]
fn operators_of_executorch_that_no_library_has_are_warned_of_and_custom_ones_are_not() {
    let warned = |name: &str| {
        let findings = Model::parse(fixture(name).bytes()).unwrap().verify(Level::Strict);
        let mut found = findings.into_iter().filter(|finding| finding.rule == "operator-without-kernel");
        found.next().map(|finding| (finding.severity, finding.message))
    };
    let (severity, message) = warned("kernels/bicubic_aa.pte").unwrap();
    assert_eq!(severity, Severity::Warning);
    assert!(message.starts_with("\"aten::_upsample_bicubic2d_aa.out\", which no kernel library"), "{message}");
    assert_eq!(warned("1.5.1/evalue_custom/evalue_custom.pte"), None);
}
