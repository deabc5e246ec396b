//! Which GPU a worker computes on: each its own, and only those that a batch system has given this job.

use crate::backend::Backend;

/// The environment variable that gives a program its GPU.
const DEVICE: &str = "FROSTLINE_DEVICE";

/// The variables by which batch systems name a job's GPUs. CUDA honours the first one by itself; graphics interfaces know none.
const GIVEN: [&str; 3] = ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"];

/// What a process's [`DEVICE`] is set to, if it has to be: the process with this number, of a backend that finds so many
/// GPUs.
pub(crate) fn device_variable(
    backend: Backend,
    gpus: usize,
    number: usize,
) -> Option<(&'static str, String)> {
    let set = |name: &str| std::env::var(name).ok();
    assigned_gpu(backend, gpus, number, set).map(|device| (DEVICE, device.to_string()))
}

fn assigned_gpu(
    backend: Backend,
    gpus: usize,
    number: usize,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<usize> {
    // The user has chosen one.
    if gpus <= 1 || variable(DEVICE).is_some() {
        return None;
    }
    let given = if backend == Backend::Wgpu {
        GIVEN.iter().find_map(|name| parse_gpu_numbers(&variable(name)?, gpus))
    } else {
        None
    };
    let given = given.unwrap_or_else(|| (0..gpus).collect());
    Some(given[number % given.len()])
}

/// Parses a list of GPUs; `None` if it has names instead of numbers, or numbers that do not exist: if a batch system
/// hides the other GPUs of a node, those that are left may be counted anew.
fn parse_gpu_numbers(list: &str, gpus: usize) -> Option<Vec<usize>> {
    let all: Option<Vec<usize>> = list.split(',').map(|number| number.trim().parse().ok()).collect();
    all.filter(|all| !all.is_empty() && all.iter().all(|number| *number < gpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the devices of workers 1 to 4 if four GPUs are found.
    fn assigned_gpus(backend: Backend, variables: &[(&str, &str)]) -> Vec<Option<usize>> {
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
        };
        (1..=4).map(|number| assigned_gpu(backend, 4, number, value)).collect()
    }

    #[test]
    fn each_worker_has_a_gpu_of_its_own_among_those_of_the_job() {
        let all = [1, 2, 3, 0].map(Some);
        for backend in [Backend::Cuda, Backend::Wgpu] {
            assert_eq!(assigned_gpus(backend, &[]), all);
            assert_eq!(assigned_gpus(backend, &[("FROSTLINE_DEVICE", "2")]), [None; 4]);
        }
        let given = [("CUDA_VISIBLE_DEVICES", "3,1")];
        assert_eq!(assigned_gpus(Backend::Wgpu, &given), [1, 3, 1, 3].map(Some));
        assert_eq!(assigned_gpus(Backend::Wgpu, &[("ROCR_VISIBLE_DEVICES", "2")]), [Some(2); 4]);
        // CUDA finds no others than these, and counts them from 0.
        assert_eq!(assigned_gpus(Backend::Cuda, &given), all);
        for unclear in ["", "GPU-5e1f", "4", "NoDevFiles"] {
            assert_eq!(assigned_gpus(Backend::Wgpu, &[("CUDA_VISIBLE_DEVICES", unclear)]), all, "{unclear}");
        }
        assert_eq!(assigned_gpu(Backend::Wgpu, 1, 1, |_| None), None);
    }
}
