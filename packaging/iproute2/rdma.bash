# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# bash completion for rdma(8)                              -*- shell-script -*-

# _rdma_print_next WORDS: print the words that may follow WORDS. If an abbreviation matches several
# words, rdma chooses the first of them, so the order is that of rdma. A word that begins with @
# stands for all names of a kind, such as @device for all device names.
_rdma_print_next() {
	case $1 in
	"") echo help dev link resource system statistic monitor ;;
	dev) echo add delete show list set help ;;
	link) echo add delete show list help ;;
	resource) echo show list set help ;;
	system) echo show set help ;;
	statistic) echo show list help qp mr mode set unset ;;
	monitor) echo help ;;
	"dev show" | "dev delete" | "dev set" | "link delete") echo @device ;;
	"dev set @device") echo name netns adaptive-moderation param ;;
	"dev set @device param" | "dev set @device param "*@value) echo @param ;;
	"dev set @device param "*@param) echo @value ;;
	"dev add" | "link add") echo @name ;;
	"dev add @name" | "link add @name") echo type ;;
	"dev add @name type") echo SMI ;;
	"dev add @name type SMI") echo parent ;;
	"dev add @name type SMI parent") echo @device ;;
	"link show") echo @port ;;
	"link add @name type") echo rnic_sw siw rxe ;;
	"link add @name type "*" netdev") echo @interface ;;
	"link add @name type "*" "*) ;;
	"link add @name type "*) echo netdev ;;
	"resource show") echo qp cm_id cq mr pd ctx srq frmr_pools @device ;;
	"resource show qp" | "resource show cm_id") echo link ;;
	"resource show "*" link") echo @port ;;
	"resource show "*" dev" | "resource set frmr_pools dev") echo @device ;;
	"resource show @device" | "resource show "*" "*) ;;
	"resource show "* | "resource set frmr_pools") echo dev ;;
	"resource set") echo frmr_pools ;;
	"resource set frmr_pools dev @device") echo aging pinned ;;
	"system show") echo netns privileged-qkey monitor ;;
	"system set") echo netns privileged-qkey ;;
	"system set netns") echo shared exclusive ;;
	"statistic show") echo link mr help ;;
	"statistic mode") echo link show supported help ;;
	"statistic qp") echo show mode set bind unbind help ;;
	"statistic "*" link") echo @port ;;
	"statistic qp set link @port") echo auto ;;
	"statistic set link @port" | "statistic unset link @port") echo optional-counters ;;
	*"@device adaptive-moderation" | "system set privileged-qkey" | *"@port auto") echo on off ;;
	"statistic qp "*" "*) ;;
	"statistic mode supported" | "statistic set" | "statistic unset" | "statistic qp "*) echo link help ;;
	esac
}

# Print the names of the driver's parameters of $device; print nothing if the driver has none or
# if this version of rdma does not support them
_rdma_print_params() {
	rdma -d dev show "$device" 2>/dev/null | sed -n '/^ *params:/,$s/^ \{8\}\([a-z][^ ]*\) .*/\1/p'
}

_rdma_print_words() {
	case $1 in
	@device) builtin cd /sys/class/infiniband 2>/dev/null && compgen -G '*' ;;
	@port) builtin cd /sys/class/infiniband 2>/dev/null && compgen -G '*/ports/*' | sed 's,/ports/,/,' ;;
	@interface) builtin cd /sys/class/net 2>/dev/null && compgen -G '*/' | tr -d / ;;
	@param) _rdma_print_params ;;
	@*) ;;
	param) [ -z "$(_rdma_print_params)" ] || echo param ;;
	*) echo "$1" ;;
	esac
}

_rdma() {
	local at='' device='' word next
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ $word != -* ]] || continue
		for next in $(_rdma_print_next "$at") '?'; do
			[[ $next != @* && $next != "$word"* ]] || break
		done
		[ "$next" != @device ] || device=$word
		# rdma accepts list as another word for show
		[ "$next" != list ] || next=show
		at+=${at:+ }$next
	done
	COMPREPLY=()
	while IFS= read -r word; do
		[[ $word != "${COMP_WORDS[COMP_CWORD]}"* ]] || COMPREPLY+=("$(printf %q "$word")")
	done < <(for next in $(_rdma_print_next "$at"); do (_rdma_print_words "$next"); done)
}

complete -F _rdma rdma
