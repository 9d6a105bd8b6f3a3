// n_physical_cores() from the affinity mask, the topology in /sys and the cgroup's CPU quota (v2,
// then v1).
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "base/thread_pool.h"

namespace puna::base {
namespace {

// The first number in a file, or `otherwise`.
long read_number(const std::string& path, long otherwise) {
  std::ifstream file(path);
  long value = 0;
  return file >> value ? value : otherwise;
}

// Whole cores that the quota of this process's cgroup allows, rounded up; 0 = no limit.
int quota_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");  // "max 100000" or "150000 100000"
  long quota = 0;
  long period = 0;
  if (!(file >> quota >> period)) {
    quota = read_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", 0);
    period = read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us", 0);
  }
  return quota > 0 && period > 0 ? static_cast<int>((quota + period - 1) / period) : 0;
}

}  // namespace

int n_physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::pair<long, long>> cores;  // (package, core)
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    cores.emplace(read_number(topology + "physical_package_id", -1),
                  read_number(topology + "core_id", cpu));
  }
  const int n_cores = std::max(static_cast<int>(cores.size()), 1);
  const int quota = quota_cores();
  return quota > 0 ? std::min(n_cores, quota) : n_cores;
}

}  // namespace puna::base
