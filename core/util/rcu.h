/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-copy-update: readers take no lock, what they may still see is freed later.
 *
 * It is liburcu's "bp" flavour. QSBR would be cheaper, but every thread has to say
 * when it is quiescent and go offline around its epoll_wait, which libevent owns;
 * "memb" wants each thread to register first, and plugins ask the cache from
 * threads of their own making. "bp" registers a thread at its first read, has no
 * barrier on the read side (membarrier(2) is on the other), and a thread that sleeps
 * outside of a read section holds nobody up.
 *
 * Read sections are short and never wait. ThreadSanitizer does not know liburcu, so
 * its builds use a reader-writer lock with the same meaning.
 */
#ifndef KS_UTIL_RCU_H
#define KS_UTIL_RCU_H

void ks_rcu_read_lock(void);
void ks_rcu_read_unlock(void);

/* Embedded in what is to be freed. */
struct ks_rcu_head {
	struct ks_rcu_head *next; /* private */
	void (*run)(struct ks_rcu_head *head);
};
/* Runs `run` on the reclaiming thread when every read section that is open now has ended. Any thread; takes no memory. Calls run one
 * after the other, in the order of deferring. */
void ks_rcu_defer(struct ks_rcu_head *head, void (*run)(struct ks_rcu_head *head));
/* Returns when everything deferred before has run, and what those calls deferred themselves. Not in a read section. */
void ks_rcu_barrier(void);

#endif
