/* pool.c — the OS threads that help with a launch; they wait for the next one in between. */
#include "scheduler.h"
#include "settings.h"

/* The pool: threads wait for a launch, run blocks of it, and report back. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    struct simt_launch *launch;
    uint64_t generation;
    int threads, wanted, running;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static __thread struct worker own_worker;

static void *pool_thread(void *argument) {
    (void)argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.generation == seen || pool.wanted == 0) pthread_cond_wait(&pool.wake, &pool.lock);
        seen = pool.generation;
        pool.wanted--;
        pool.running++;
        struct simt_launch *launch = pool.launch;
        pthread_mutex_unlock(&pool.lock);
        worker_run_blocks(&own_worker, launch);
        pthread_mutex_lock(&pool.lock);
        if (--pool.running == 0) pthread_cond_signal(&pool.done);
    }
    return NULL;
}

static void pool_wake(struct simt_launch *launch, int helpers) {
    pthread_mutex_lock(&pool.lock);
    while (pool.threads < helpers) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, pool_thread, NULL) != 0) break;
        pthread_detach(thread);
        pool.threads++;
    }
    pool.launch = launch;
    pool.wanted = helpers < pool.threads ? helpers : pool.threads;
    pool.generation++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

static void pool_wait(void) {
    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0; /* who has not woken up yet is not needed any more */
    while (pool.running) pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

void workers_run(struct simt_launch *launch) {
    uint64_t helpers = (uint64_t)simt_settings.os_threads - 1;
    if (helpers > launch->blocks - 1) helpers = launch->blocks - 1;
    if (helpers) pool_wake(launch, (int)helpers);
    worker_run_blocks(&own_worker, launch);
    if (helpers) pool_wait();
}
