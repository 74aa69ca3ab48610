// Runs programs with the official C++ runtime and prints a fingerprint of everything that each run computes.
//
//   etrun --serve             runs the files named on each line of stdin: "SEED RUNS\tFILE\tFILE...", see below
//   etrun SEED RUNS FILE...   the same once, and prints each result with its instruction
//
// The first method of each file is loaded and run RUNS times in one process, so that its state is kept between runs. Planned
// memory is zeroed when a method is loaded. Inputs are set before each run in order, as `Method::set_inputs` does: the exporter
// may plan an input at the place of an earlier, unused one. They depend only on SEED, the run and their position: floats between
// -2 and 2, and booleans that take all combinations over the runs.
//
// For each file, one line is printed: "file N:" and a fingerprint for each run, in hexadecimal. A fingerprint covers the outputs of
// the method and the result of each kernel with the index of its instruction (an event tracer sees them right after the kernel), so
// that a wrong operand shows even if no output depends on it. A run that fails prints "error 0x..", and a file that kills or
// hangs the process prints "killed by signal N". A run that writes to the memory of an output of an earlier run prints
// "wrote to freed memory". A line "end" follows the last file.

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::FileDataLoader;
using executorch::extension::MallocMemoryAllocator;
using namespace executorch::runtime;

static bool g_print = false;

/// FNV-1a over the results of a run.
struct Fingerprint {
  uint64_t hash = 0xcbf29ce484222325;
  void add(const void* data, size_t size) {
    for (size_t i = 0; i < size; i++)
      hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3;
  }
  void add(const EValue& value) {
    if (value.isTensor())
      return add(value.toTensor());
    if (value.isTensorList())
      for (const Tensor& tensor : value.toTensorList())
        add(tensor);
  }
  void add(const Tensor& tensor) {
    if (!tensor.const_data_ptr())
      return;
    add(tensor.const_data_ptr(), tensor.nbytes());
    if (g_print && tensor.scalar_type() == ScalarType::Float)
      for (ssize_t i = 0; i < tensor.numel(); i++)
        printf(" %.5g", double(tensor.const_data_ptr<float>()[i]));
    else if (g_print)
      for (size_t i = 0; i < tensor.nbytes(); i++)
        printf(" %02x", static_cast<const uint8_t*>(tensor.const_data_ptr())[i]);
  }
};

/// Hashes the result of each kernel that has one. Several results of a kernel are hashed when they are read: an unused result may
/// have been overwritten by another one.
class Tracer final : public EventTracer {
 public:
  Tracer() { set_event_tracer_debug_level(EventTracerDebugLogLevel::kIntermediateOutputs); }
  Result<bool> log_evalue(const EValue& value, LoggedEValueType type) override {
    if (type == LoggedEValueType::kProgramOutput)
      return true;
    DebugHandle instruction = current_debug_handle();
    if (results > 0 && instruction == last) {
      seen = before;
    } else {
      before = seen;
      results = 0;
    }
    last = instruction;
    results++;
    if (g_print)
      printf("  instruction %u:", unsigned(instruction));
    if (results == 1 && value.isTensor()) {
      seen.add(&instruction, sizeof instruction);
      seen.add(value);
    }
    if (g_print)
      printf("\n");
    return true;
  }
  /// Returns the fingerprint since the last call.
  Fingerprint take(const Method& method) {
    for (size_t i = 0; i < method.outputs_size(); i++) {
      if (g_print)
        printf("  output %zu:", i);
      seen.add(method.get_output(i));
      if (g_print)
        printf("\n");
    }
    results = 0;
    return std::exchange(seen, Fingerprint());
  }
  void create_event_block(const char*) override {}
  EventTracerEntry start_profiling(const char*, ChainID, DebugHandle) override { return EventTracerEntry(); }
  EventTracerEntry start_profiling_delegate(const char*, DelegateDebugIntId) override { return EventTracerEntry(); }
  void end_profiling_delegate(EventTracerEntry, const void*, size_t) override {}
  void log_profiling_delegate(const char*, DelegateDebugIntId, et_timestamp_t, et_timestamp_t, const void*,
                              size_t) override {}
  void end_profiling(EventTracerEntry) override {}
  void track_allocation(AllocatorID, size_t) override {}
  AllocatorID track_allocator(const char*) override { return 0; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const Tensor&) override {
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const ArrayRef<Tensor>) override {
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const int&) override { return true; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const bool&) override { return true; }
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const double&) override {
    return true;
  }
  void set_delegation_intermediate_output_filter(EventTracerFilterBase*) override {}

 private:
  /// The fingerprint of everything so far, with and without the results of the last kernel.
  Fingerprint seen, before;
  DebugHandle last = 0;
  /// The number of results of the last kernel so far.
  int results = 0;
};

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// `boolean` is the position of the input among the `booleans` boolean inputs.
static void fill(ScalarType type, uint8_t* data, size_t size, uint64_t seed, int run, size_t input, int boolean,
                 int booleans) {
  for (size_t i = 0; i < size; i++) {
    uint64_t random = mix(mix(mix(seed) ^ run) ^ (input << 32 | i));
    if (type == ScalarType::Bool) {
      // All combinations in turn, then arbitrary ones.
      data[i] = booleans < 8 && run < 1 << booleans ? run >> boolean & 1 : random & 1;
    } else if (type == ScalarType::Float) {
      if (i % 4 != 0)
        continue;
      float value = float(random >> 40) / float(1 << 22) - 2;
      memcpy(data + i, &value, i + 4 <= size ? 4 : 0);
    } else {
      data[i] = 0;
    }
  }
}

/// An input of the caller: everything that a TensorImpl points to outlives the runs.
struct Input {
  std::vector<TensorImpl::SizesType> sizes;
  std::vector<TensorImpl::DimOrderType> order;
  std::vector<TensorImpl::StridesType> strides;
  std::vector<uint8_t> data;
  std::unique_ptr<TensorImpl> impl;
  size_t index = 0;
  int boolean = 0;
};

static void run(const char* path, uint64_t seed, int runs) {
  auto loader = FileDataLoader::from(path);
  if (!loader.ok()) {
    printf(" unreadable");
    return;
  }
  auto program = Program::load(&*loader, Program::Verification::InternalConsistency);
  auto name = program.ok() ? program->get_method_name(0) : Result<const char*>(program.error());
  auto meta = name.ok() ? program->method_meta(*name) : Result<MethodMeta>(name.error());
  if (!meta.ok()) {
    printf(" load 0x%02x", unsigned(meta.error()));
    return;
  }
  std::vector<std::vector<uint8_t>> arenas;
  std::vector<Span<uint8_t>> spans;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); i++)
    arenas.emplace_back(size_t(meta->memory_planned_buffer_size(i).get()) + 64);
  for (auto& arena : arenas)
    spans.push_back({arena.data(), arena.size() - 64});
  HierarchicalAllocator planned({spans.data(), spans.size()});
  MallocMemoryAllocator method_allocator, temp_allocator;
  MemoryManager memory(&method_allocator, &planned, &temp_allocator);
  Tracer tracer;
  auto method = program->load_method(*name, &memory, &tracer);
  if (!method.ok()) {
    printf(" load 0x%02x", unsigned(method.error()));
    return;
  }
  std::vector<std::unique_ptr<Input>> inputs;
  int booleans = 0;
  for (size_t i = 0; i < meta->num_inputs(); i++) {
    auto info = meta->input_tensor_meta(i);
    if (!info.ok())
      continue;
    auto input = std::make_unique<Input>();
    input->sizes.assign(info->sizes().begin(), info->sizes().end());
    input->order.assign(info->dim_order().begin(), info->dim_order().end());
    input->strides.resize(input->sizes.size());
    if (!input->sizes.empty())
      dim_order_to_stride_nocheck(input->sizes.data(), input->order.data(), input->sizes.size(), input->strides.data());
    input->data.resize(info->nbytes() + 1);
    input->impl = std::make_unique<TensorImpl>(info->scalar_type(), ssize_t(input->sizes.size()), input->sizes.data(),
                                               input->data.data(), input->order.data(), input->strides.data());
    input->index = i;
    if (info->scalar_type() == ScalarType::Bool)
      input->boolean = booleans++;
    inputs.push_back(std::move(input));
  }
  // Like Python's runtime, gives each run new memory for the outputs outside the planned memory, before the inputs. Nobody may
  // write to that of earlier runs.
  std::vector<std::vector<uint8_t>> outputs;
  const uint8_t freed = 0xa5;
  for (int number = 0; number < runs; number++) {
    for (auto& output : outputs)
      std::fill(output.begin(), output.end(), freed);
    size_t old = outputs.size();
    for (size_t i = 0; i < meta->num_outputs(); i++) {
      auto info = meta->output_tensor_meta(i);
      if (!info.ok() || info->is_memory_planned() || !method->get_output(i).isTensor())
        continue;
      outputs.emplace_back(info->nbytes() + 1);
      (void)method->set_output_data_ptr(outputs.back().data(), info->nbytes(), i);
    }
    for (auto& each : inputs) {
      Input& input = *each;
      fill(input.impl->scalar_type(), input.data.data(), input.impl->nbytes(), seed, number, input.index, input.boolean,
           booleans);
      Error error = method->set_input(EValue(Tensor(input.impl.get())), input.index);
      if (error != Error::Ok) {
        printf(" set_input 0x%02x", unsigned(error));
        return;
      }
    }
    if (g_print)
      printf(" run %d\n", number);
    Error error = method->execute();
    if (error != Error::Ok) {
      printf(" error 0x%02x", unsigned(error));
      return;
    }
    uint64_t hash = tracer.take(*method).hash;
    for (size_t i = 0; i < old; i++)
      if (std::any_of(outputs[i].begin(), outputs[i].end(), [&](uint8_t byte) { return byte != freed; })) {
        printf(" wrote to freed memory");
        return;
      }
    printf(" %016" PRIx64, hash);
    fflush(stdout);
  }
}

/// Runs each file in a child process. If a file kills it, another child process runs the rest.
static void judge(uint64_t seed, int runs, const std::vector<const char*>& files) {
  int progress[2];
  size_t next = 0;
  while (next < files.size()) {
    fflush(stdout);
    if (pipe(progress) != 0)
      exit(3);
    pid_t pid = fork();
    if (pid == 0) {
      close(progress[0]);
      for (size_t i = next; i < files.size(); i++) {
        struct rlimit seconds = {1 + rlim_t(i - next), 3 + rlim_t(i - next)};
        setrlimit(RLIMIT_CPU, &seconds);
        char started = 1;
        if (write(progress[1], &started, 1) != 1)
          _exit(3);
        printf("file %zu:", i);
        fflush(stdout);
        run(files[i], seed, runs);
        printf("\n");
        fflush(stdout);
      }
      _exit(0);
    }
    close(progress[1]);
    char started;
    size_t begun = 0;
    while (read(progress[0], &started, 1) == 1)
      begun++;
    close(progress[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    next += begun;
    if (WIFSIGNALED(status))
      printf(" killed by signal %d\n", WTERMSIG(status));
    else
      next = files.size();
  }
  printf("end\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  runtime_init();
  // The runtime's log.
  if (!freopen("/dev/null", "w", stderr))
    return 3;
  if (argc == 2 && strcmp(argv[1], "--serve") == 0) {
    char* line = nullptr;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
      char* rest = line;
      uint64_t seed = strtoull(rest, &rest, 10);
      int runs = int(strtol(rest, &rest, 10));
      std::vector<const char*> files;
      for (char* part = strtok(rest, "\t\n"); part; part = strtok(nullptr, "\t\n"))
        files.push_back(part);
      judge(seed, runs, files);
    }
    free(line);
    return 0;
  }
  if (argc < 4) {
    printf("usage: etrun --serve | etrun SEED RUNS FILE...\n");
    return 2;
  }
  g_print = true;
  judge(strtoull(argv[1], nullptr, 10), atoi(argv[2]), std::vector<const char*>(argv + 3, argv + argc));
  return 0;
}
