/* Binary semaphores between threads. */
#pragma once

#include <condition_variable>
#include <mutex>

struct Semaphore {
    std::mutex mutex;
    std::condition_variable given;
    bool is_given = false;
};

using SemaphoreHandle_t = Semaphore *;

inline SemaphoreHandle_t xSemaphoreCreateBinary()
{
    return new Semaphore;
}

inline void xSemaphoreGive(SemaphoreHandle_t semaphore)
{
    const std::lock_guard lock(semaphore->mutex);
    semaphore->is_given = true;
    semaphore->given.notify_one();
}

inline void xSemaphoreTake(SemaphoreHandle_t semaphore, unsigned)
{
    std::unique_lock lock(semaphore->mutex);
    semaphore->given.wait(lock, [&] { return semaphore->is_given; });
    semaphore->is_given = false;
}
