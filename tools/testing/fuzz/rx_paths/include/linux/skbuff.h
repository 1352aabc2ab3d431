/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* An skb with the parts that mpa/cursor.c reads: linear part, fragments and frag_list */
#ifndef _FUZZ_RX_PATHS_SKBUFF_H
#define _FUZZ_RX_PATHS_SKBUFF_H

#include <linux/types.h>

#define SKB_FRAGS	4

typedef struct {
	u8	*at;
	u32	len;
} skb_frag_t;

struct skb_shared_info {
	u8		nr_frags;
	skb_frag_t	frags[SKB_FRAGS];
	/* adjacent[i]: frags[i] follows frags[i - 1] in the same allocation */
	bool		adjacent[SKB_FRAGS];
	struct sk_buff	*frag_list;
};

struct sk_buff {
	struct sk_buff	*next;		/* next skb of the queue or of the frag_list */
	u8		*head;		/* allocation of the linear part */
	u8		*data;		/* linear part */
	u32		headlen;	/* bytes in the linear part */
	u32		len;		/* bytes in total, frag_list included */
	u32		seq;		/* TCP sequence number of the first byte */
	bool		unreadable;	/* fragments are device memory */
	struct skb_shared_info	info;
};

struct sk_buff_head {
	struct sk_buff	*first, *last;
};

#define skb_shinfo(skb)			(&((struct sk_buff *)(skb))->info)
#define skb_headlen(skb)		((skb)->headlen)
#define skb_frag_size(frag)		((frag)->len)
#define skb_frag_address(frag)		((frag)->at)
#define skb_frags_readable(skb)		(!(skb)->unreadable)
#define skb_queue_is_last(queue, skb)	((queue)->last == (skb))
#define skb_queue_next(queue, skb)	((void)(queue), (const struct sk_buff *)(skb)->next)

#endif
