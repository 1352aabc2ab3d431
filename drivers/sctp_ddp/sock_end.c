// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The end of a connected socket: SHUTDOWN, and release.
 *
 * An association keeps its socket until SCTP's association has ended, or until it has waited long
 * enough: the release of the socket then ends SCTP's association at once. If it closed the socket
 * after the SHUTDOWN instead, SCTP would complete the SHUTDOWN alone, and this module could no
 * longer end SCTP's association. SCTP repeats a SHUTDOWN to an unreachable peer for 40 seconds. If
 * it had no memory for the SHUTDOWN chunk, it sends none until its heartbeats fail. Meanwhile the
 * socket would remain, and with lockdep it would keep the module of its lock classes loaded.
 */
#include <linux/net.h>
#include <net/sctp/kernel.h>
#include <net/sctp/sctp.h>
#include <net/sctp/structs.h>
#include <net/sock.h>

#include "internal.h"

/* Restore the socket's original callbacks, if sddp_sock_install_callbacks() has replaced them */
static void detach_callbacks(struct sddp_assoc *a, struct sock *sk)
{
	if (sk->sk_user_data != a)
		return;
	remove_wait_queue(sk_sleep(sk), &a->wait_entry);
	ddp_sock_restore_callbacks(sk, &a->orig_callbacks);
}

/* Set the association's socket, with the lock held because sddp_sock_query() reads it */
static void set_assoc_sock(struct sddp_assoc *a, struct socket *sock)
{
	spin_lock_irq(&a->lock);
	a->sock = sock;
	spin_unlock_irq(&a->lock);
}

/**
 * sddp_sock_release - release the association's socket
 * @a: the association; nothing is done if it has no socket
 *
 * If SCTP's association still exists, SCTP sends an ABORT if it has memory for one, and frees its
 * association in any case.
 */
void sddp_sock_release(struct sddp_assoc *a)
{
	struct socket *sock = a->sock;

	if (!sock)
		return;
	detach_callbacks(a, sock->sk);
	sock_no_linger(sock->sk);
	set_assoc_sock(a, NULL);
	ddp_sock_release(sock);
}

/**
 * sddp_sock_has_assoc_ended - check whether SCTP's association has ended
 * @a: the association, with a socket
 *
 * Context: worker, with the association's mutex held.
 * Return: true if neither side sends anything on the association any more, false otherwise.
 */
bool sddp_sock_has_assoc_ended(struct sddp_assoc *a)
{
	struct sock *sk = a->sock->sk;
	struct sctp_association *asoc;
	bool ended;

	lock_sock(sk);
	asoc = sctp_sk_asoc(sk);
	ended = !asoc || asoc->state == SCTP_STATE_CLOSED;
	release_sock(sk);
	return ended;
}

/**
 * sddp_sock_shutdown - send a SHUTDOWN, unless the peer has already sent one
 * @a: the association, established
 *
 * SCTP discards the data that arrives from now on. The socket's callbacks schedule the worker when
 * SCTP's association ends.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_sock_shutdown(struct sddp_assoc *a)
{
	kernel_sock_shutdown(a->sock, SHUT_RDWR);
}
