// The scheduler over a real backend: whatever shares a launch, and however a task is cut, results
// are those of the reference.

#include <gtest/gtest.h>

#include <list>
#include <thread>

#include "absl/synchronization/notification.h"
#include "server/backend/backend_factory.h"
#include "server/backend/work_key.h"
#include "server/batching/scheduler.h"
#include "tests/server/backend/random_items.h"
#include "tests/server/backend/reference_item.h"
#include "tests/testing/random.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using winnow::testing::Random;

struct Request {
  ReferenceResult expected;
  std::unique_ptr<Task> task;
  absl::Notification done;
};

void ExpectEqual(const Request& request) {
  const WorkItem& work = request.task->work;
  EXPECT_EQ(work.status.code(), request.expected.status.code()) << work.status;
  EXPECT_EQ(work.status.message(), request.expected.status.message());
  if (!work.status.ok()) return;
  ASSERT_EQ(work.results.size(), request.expected.outputs.size());
  for (size_t step = 0; step < work.results.size(); ++step) {
    EXPECT_EQ(work.results[step].negative_rows, request.expected.negative_rows[step]);
    for (const OutputTensor& tensor : work.results[step].outputs) {
      const std::string& expected = request.expected.outputs[step].at(tensor.name);
      EXPECT_EQ(Canonical(work, step, tensor.name, tensor.data),
                Canonical(work, step, tensor.name, expected));
    }
  }
}

class SchedulerResultsTest : public ::testing::Test {
 protected:
  void Start(const SchedulerOptions& options) {
    backend_ = *OpenBackend({.kind = "cpu",
                             .cpu_threads = 2,
                             .launch_slots = 2,
                             .buffer_pool_bytes = 1 << 20,
                             .staging_pool_bytes = 8 << 20});
    scheduler_ = Scheduler::Create(options, backend_.get(), Clock::Real());
  }

  // Null when the host already sees what is wrong with it.
  std::unique_ptr<Task> MakeTask(RandomItemMaker& maker, int64_t rows, Request& request) {
    auto task = std::make_unique<Task>();
    task->work = maker.Make(rows);
    if (!CheckItem(task->work).ok()) return nullptr;
    request.expected = RunReference(task->work, nullptr);
    task->done = [&request](std::unique_ptr<Task> finished) {
      request.task = std::move(finished);
      request.done.Notify();
    };
    return task;
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(SchedulerResultsTest, RequestsOfManyFlowsThatShareLaunchesKeepTheirResults) {
  Start({});
  Random random(winnow::testing::SeedFromEnvironment("WINNOW_SEED"));
  for (int round = 0; round < 20; ++round) {
    RandomItemMaker maker(&random, nullptr, true);
    std::list<Request> requests;
    std::vector<std::unique_ptr<Task>> tasks;
    for (int flow = 0; flow < 64; ++flow) {
      auto task = MakeTask(maker, random.Between(0, 9), requests.emplace_back());
      if (task == nullptr) {
        requests.pop_back();
        continue;
      }
      task->flow_id = flow;
      tasks.push_back(std::move(task));
    }
    std::vector<std::thread> clients;
    for (size_t client = 0; client < 4; ++client) {
      clients.emplace_back([&, client] {
        for (size_t i = client; i < tasks.size(); i += 4) {
          EXPECT_OK(scheduler_->Submit(tasks[i]));
        }
      });
    }
    for (std::thread& client : clients) client.join();
    for (Request& request : requests) {
      request.done.WaitForNotification();
      ExpectEqual(request);
    }
  }
  scheduler_->Drain(absl::InfiniteFuture());
}

TEST_F(SchedulerResultsTest, ATaskCutIntoSlicesGivesTheResultsOfTheWhole) {
  Start({.interactive_rows = 1, .bulk_launch_rows = 7, .max_bulk_launches = 2});
  Random random(winnow::testing::SeedFromEnvironment("WINNOW_SEED"));
  std::list<Request> requests;
  std::vector<std::unique_ptr<RandomItemMaker>> makers;
  for (int i = 0; i < 60; ++i) {
    makers.push_back(std::make_unique<RandomItemMaker>(&random, nullptr, false));
    auto task = MakeTask(*makers.back(), random.Between(2, 60), requests.emplace_back());
    ASSERT_NE(task, nullptr);
    task->flow_id = i % 5;
    ASSERT_OK(scheduler_->Submit(task));
  }
  for (Request& request : requests) {
    request.done.WaitForNotification();
    ExpectEqual(request);
  }
  EXPECT_GT(backend_->stats().launches, 60);
  scheduler_->Drain(absl::InfiniteFuture());
}

}  // namespace
}  // namespace winnow::server
