/* parallel.c — threads for products. Idle ones sleep, while OpenBLAS's spin: between two products the backend's kernels need
 * the cores.
 */
#include <pthread.h>

#include "product.h"

enum { MOST_HELPERS = 63 };

static struct {
    pthread_mutex_t lock, one_product;
    pthread_cond_t wake, done;
    void (*run)(void *work);
    void *work;
    int threads, wanted, running;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .one_product = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static void *help(void *argument) {
    (void)argument;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.wanted == 0) { pthread_cond_wait(&pool.wake, &pool.lock); }
        pool.wanted--;
        pool.running++;
        void (*run)(void *) = pool.run, *work = pool.work;
        pthread_mutex_unlock(&pool.lock);
        run(work);
        pthread_mutex_lock(&pool.lock);
        if (--pool.running == 0) { pthread_cond_signal(&pool.done); }
    }
    return NULL;
}

static void call_helpers(void (*run)(void *work), void *work) {
    int helpers = simt_settings.os_threads - 1;
    helpers = helpers < MOST_HELPERS ? helpers : MOST_HELPERS;
    pthread_mutex_lock(&pool.lock);
    for (pthread_t thread; pool.threads < helpers && pthread_create(&thread, NULL, help, NULL) == 0; pool.threads++) {
        pthread_detach(thread);
    }
    pool.run = run;
    pool.work = work;
    pool.wanted = pool.threads;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

static void send_away(void) { /* threads that have not woken up yet are not needed any more */
    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0;
    while (pool.running > 0) { pthread_cond_wait(&pool.done, &pool.lock); }
    pthread_mutex_unlock(&pool.lock);
}

void product_parallel(void (*run)(void *work), void *work) {
    if (simt_settings.os_threads < 2) {
        run(work);
        return;
    }
    pthread_mutex_lock(&pool.one_product);
    call_helpers(run, work);
    run(work);
    send_away();
    pthread_mutex_unlock(&pool.one_product);
}
