// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Values of a device's settings: the defaults, and access to the list of further SCTP
 * interfaces. settings.c has the names and the text form of the settings.
 *
 * The list is protected by a seqlock, so a reader never gets a mixture of old and new
 * ifindexes.
 */
#include <linux/seqlock.h>
#include <linux/string.h>
#include <ddp/offer.h>

#include "policy.h"
#include "rnic.h"

/*
 * Default rendezvous port.  Only a privileged program can bind a port below 1024, so no
 * unprivileged program can reply in place of a queue pair.  No registered service uses port 291.
 */
#define RENDEZVOUS_PORT	291

/**
 * rnic_policy_init - initialize the settings of a new device with the defaults
 * @p: the settings
 */
void rnic_policy_init(struct rnic_policy *p)
{
	p->llp_connect = RNIC_SW_LLP_TCP;
	/* listen over SCTP only if an administrator requests it */
	p->llp_listen = BIT(RNIC_SW_LLP_TCP);
	p->mpa_revision = 0;
	p->mpa_crc = true;
	p->mpa_markers = false;
	p->mpa_rtr = DDP_RTR_WRITE | DDP_RTR_READ;
	p->busy_poll = false;
	p->streams = 0;
	p->rendezvous = RENDEZVOUS_PORT;
	p->rnr_wait = 0;
	seqlock_init(&p->lock);
	memset(p->paths, 0, sizeof(p->paths));
}

/**
 * rnic_policy_get_paths - read a consistent copy of the list of further SCTP interfaces
 * @p: settings of a device
 * @paths: array of RNIC_PATHS ifindexes, filled in; unused entries are 0
 */
void rnic_policy_get_paths(const struct rnic_policy *p, int *paths)
{
	unsigned int seq;

	do {
		seq = read_seqbegin(&p->lock);
		memcpy(paths, p->paths, sizeof(p->paths));
	} while (read_seqretry(&p->lock, seq));
}

/**
 * rnic_policy_set_paths - replace the list of further SCTP interfaces
 * @p: settings of a device
 * @paths: array of RNIC_PATHS ifindexes; unused entries are 0
 */
void rnic_policy_set_paths(struct rnic_policy *p, const int *paths)
{
	write_seqlock(&p->lock);
	memcpy(p->paths, paths, sizeof(p->paths));
	write_sequnlock(&p->lock);
}
