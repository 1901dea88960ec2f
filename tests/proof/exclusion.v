(* The theorem: no two tokens are held at the same time. *)
From Coq Require Import List ZArith Lia.
From redlock Require Import clocks quorum node.
Import ListNotations.
Open Scope Z_scope.

(* All nodes, each with its history of one resource, and all clients. *)
Record world := {
  node_count : nat;
  nodes : nat -> node;
  client_clocks : nat -> Z -> Z;
  (* The real time from which its holder counts a lock as released, at most one for a token, since
     each attempt has a token of its own (S6): acquire_begin. *)
  release_began : token -> option Z;
  clock_errors : errors;
  guard : Z
}.

(* A round that acquires or extends, as its client counts it. A grant is a node and the number of
   the event there. *)
Record round := {
  client : nat;
  signed : token;
  ttl : Z;
  drift : Z;
  started : Z;
  decided : Z;
  grants_counted : list (nat * nat)
}.

Section World.
Variable w : world.
(* Nodes that may break every rule. There are none unless the quorum is larger than needed. *)
Variable bad : list nat.
Variable quorum : nat.

Definition elapsed (r : round) (now : Z) :=
  client_clocks w (client r) now - client_clocks w (client r) (started r).

(* ---- What is assumed of the surroundings ---- *)

Definition good (n : nat) := ~ In n bad.

(* A node executes one command after the other. *)
Definition in_order := forall n i j, (i <= j)%nat -> at_time (nodes w n) i <= at_time (nodes w n) j.

(* S2: "clocks run at about the same rate, within the drift, and nobody steps a server's clock
   forward". *)
Definition clocks_run_right :=
  sane (clock_errors w) /\
  (forall n, good n -> server_clock (clock_errors w) (clock (nodes w n))) /\
  (forall c, client_clock (clock_errors w) (client_clocks w c)).

(* "Keys are not deleted by others: no FLUSHALL, no eviction." S12 refuses nodes that another server
   may overwrite, check_identity. A failover that a client can see is a restart with an old memory,
   so it costs the guard (S30): note_server. *)
Definition undisturbed := forall n k after, good n -> does (nodes w n) k <> Foreign after.

(* S5, S7, S27: a release names the token, and none is sent before its holder has stopped:
   release_begin, send.c. It may be executed at any later time. *)
Definition releases_are_own :=
  forall n k t, good n -> does (nodes w n) k = Release t ->
    exists y, release_began w t = Some y /\ y <= at_time (nodes w n) k.

(* ---- What a client does ---- *)

(* S3, S4, S8: a vote is the answer to this round's command, so the node has executed it after the
   round began and before it was decided: stake_vote, round_vote. A node votes once. *)
Definition votes_are_true (r : round) :=
  NoDup (map fst (grants_counted r)) /\
  forall n i, In (n, i) (grants_counted r) ->
    (n < node_count w)%nat /\ takes (does (nodes w n) i) (signed r) (ttl r) /\
      granted (nodes w n) i /\
    started r <= at_time (nodes w n) i <= decided r.

(* S11: a node that may have forgotten has no vote until a clock has counted the guard since then,
   and no TTL is longer than the guard: node_votes, stake_may_ask. How the clock of a client, or
   that of the server, counts it: client_counts, uptime_counts. A restart that forgets nothing (S23:
   canary_memory) is no event here. *)
Definition guard_is_kept (r : round) :=
  ttl r <= guard w /\
  forall n i k kept, In (n, i) (grants_counted r) -> good n -> (k < i)%nat ->
    does (nodes w n) k = Restart kept ->
    counted (clock_errors w) (guard w) (at_time (nodes w n) k) (at_time (nodes w n) i).

(* S1, S2: round_verdict, acquire_judge, extend_judge. *)
Definition won (r : round) :=
  votes_are_true r /\ guard_is_kept r /\ covers (clock_errors w) (ttl r) (drift r) /\
  (quorum <= length (grants_counted r))%nat /\ elapsed r (decided r) + drift r < ttl r.

(* S10: what a round promises is computed at each question, lock_is_held, and ends with the validity
   or with a release. *)
Definition promises (r : round) (now : Z) :=
  decided r <= now /\ elapsed r now + drift r < ttl r /\
    (forall y, release_began w (signed r) = Some y -> now < y).

(* A token is held while any round that it has signed promises it, the acquire, an extension (S9),
   or the extension with which another process begins that has been given the token (S17). *)
Definition held (t : token) (now : Z) := exists r, signed r = t /\ won r /\ promises r now.

(* ---- The proof ---- *)

Hypothesis order : in_order.
Hypothesis clocks : clocks_run_right.
Hypothesis undisturbed_nodes : undisturbed.
Hypothesis own_releases : releases_are_own.

Lemma voters_are_nodes r : votes_are_true r -> node_set (node_count w) (map fst (grants_counted r)).
Proof.
  intros [Hd Hv]. split; [assumption|]. intros n Hn. apply in_map_iff in Hn.
  destruct Hn as [[n' i] [<- Hin]].
  apply (Hv n' i Hin).
Qed.

(* While a promise lasts, no node that granted it has let the TTL run out. *)
Lemma key_outlives_promise r now n i time :
  won r -> promises r now -> In (n, i) (grants_counted r) -> good n ->
    at_time (nodes w n) i <= time <= now ->
  clock (nodes w n) time < reads (nodes w n) i + ttl r.
Proof.
  intros [[_ Hv] [_ [Hc _]]] [Hd [He _]] Hin Hg Ht. destruct clocks as [Hx [Hs Hcl]].
  destruct (Hv n i Hin) as [_ [_ [_ Hi]]].
  destruct (Z_lt_ge_dec (clock (nodes w n) time) (reads (nodes w n) i + ttl r)) as [|Hge];
    [assumption|exfalso].
  assert (now < time); [|lia].
  apply (client_ends_first _ _ _ _ (started r) now (at_time (nodes w n) i) time Hx Hc (Hcl
    (client r))); try lia.
  - apply (server_counts _ (clock (nodes w n))); [assumption|auto|lia|unfold reads in Hge; lia].
  - unfold elapsed in He. lia.
Qed.

(* Two promises whose common node granted a first, then b. *)
Lemma later_grant_is_refused a b now n i j :
  won a -> won b -> promises a now -> promises b now -> signed a <> signed b ->
  In (n, i) (grants_counted a) -> In (n, j) (grants_counted b) -> good n -> (i < j)%nat -> False.
Proof.
  intros Wa Wb Pa Pb Hne Ia Ib Hg Hij.
  pose proof Wa as [[_ Va] [[Ga _] [Ca _]]]. pose proof Wb as [[_ Vb] [[_ Gb] _]].
  destruct (Va n i Ia) as [_ [Ti [Gi Ai]]]. destruct (Vb n j Ib) as [_ [Tj [Gj Aj]]].
  destruct Pa as [Da [Ea Ra]] eqn:E. destruct Pb as [Db _]. destruct clocks as [Hx [Hs Hcl]].
  apply (node_grants_once (nodes w n) i j (signed a) (signed b) (ttl a) (ttl b)); try assumption.
  - intros k Hk. split.
    + destruct (does (nodes w n) k) eqn:Ek; simpl; try exact I; [|eapply undisturbed_nodes; eauto].
      (* S11: it restarted in between, so b has waited for the guard, and a is over. *)
      pose proof (Gb n j k remembered Ib Hg ltac:(lia) Ek) as Hguard.
      pose proof (order n i k ltac:(lia)). pose proof (order n k j ltac:(lia)).
      assert (now < at_time (nodes w n) j); [|lia].
      apply (client_ends_first _ _ _ _ (started a) now (at_time (nodes w n) k) (at_time
        (nodes w n) j) Hx Ca (Hcl (client a))); try lia.
      * apply (counted_shorter _ (guard w)); assumption.
      * unfold elapsed in Ea. lia.
    + intro Ek. destruct (own_releases n k _ Hg Ek) as [y [Hy Hle]]. pose proof (Ra y Hy).
      pose proof (order n k j ltac:(lia)). lia.
  - intros k Hk. pose proof (order n i k ltac:(lia)). pose proof (order n k j ltac:(lia)).
    apply (key_outlives_promise a now); try assumption; try lia.
Qed.

Hypothesis quorums_meet : (node_count w + length bad < 2 * quorum)%nat.

Theorem promises_exclude a b now :
  won a -> won b -> promises a now -> promises b now -> signed a = signed b.
Proof.
  intros Wa Wb Pa Pb. destruct (Nat.eq_dec (signed a) (signed b)) as [|Hne]; [assumption|exfalso].
  pose proof Wa as [Va [_ [_ [Qa _]]]]. pose proof Wb as [Vb [_ [_ [Qb _]]]].
  destruct (sets_share_a_good_node (node_count w) _ _ bad (voters_are_nodes a Va)
    (voters_are_nodes b Vb)) as [n [Ia [Ib Hg]]].
  { rewrite !map_length. lia. }
  apply in_map_iff in Ia. destruct Ia as [[n1 i] [E1 Ia]]. apply in_map_iff in Ib.
  destruct Ib as [[n2 j] [E2 Ib]].
  simpl in E1, E2. subst n1 n2.
  destruct (lt_eq_lt_dec i j) as [[Hlt|Heq]|Hgt].
  - exact (later_grant_is_refused a b now n i j Wa Wb Pa Pb Hne Ia Ib Hg Hlt).
  - subst j. destruct (proj2 Va n i Ia) as [_ [Ti _]]. destruct (proj2 Vb n i Ib) as [_ [Tj _]].
    destruct Ti as [[f Ti]|Ti], Tj as [[g Tj]|Tj]; rewrite Ti in Tj; inversion Tj; congruence.
  - exact (later_grant_is_refused b a now n j i Wb Wa Pb Pa (not_eq_sym Hne) Ib Ia Hg Hgt).
Qed.

Theorem held_excludes a b now : held a now -> held b now -> a = b.
Proof. intros [r [<- [Wr Pr]]] [s [<- [Ws Ps]]]. exact (promises_exclude r s now Wr Ws Pr Ps). Qed.

(* ---- Extensions ---- *)

(* The clock of redlock_tick does not go back. If it does, lock_is_held says no. *)
Definition goes_forward (c : Z -> Z) := forall x y, x <= y -> c x <= c y.

Lemma promise_has_no_gap r now now' :
  goes_forward (client_clocks w (client r)) -> promises r now' -> decided r <= now <= now' ->
    promises r now.
Proof.
  intros Hc [Hd [He Hr]] Hn. split; [lia|]. split.
  - unfold elapsed in *. pose proof (Hc now now' ltac:(lia)). lia.
  - intros y Hy. specialize (Hr y Hy). lia.
Qed.

(* S9: an extension that a quorum confirms before the old validity ends leaves no gap, so that
   nobody else can hold the lock between the acquire and the end of the extension. *)
Theorem extension_leaves_no_gap r s now last rival :
  goes_forward (client_clocks w (client r)) -> goes_forward (client_clocks w (client s)) ->
  won r -> won s -> signed s = signed r ->
  promises r (decided s) -> promises s last -> decided r <= now <= last ->
  held (signed r) now /\ (held rival now -> rival = signed r).
Proof.
  intros Cr Cs Wr Ws Hsame Pr Ps Hn.
  assert (H : held (signed r) now).
  { destruct (Z_le_gt_dec now (decided s)).
    - exists r. split; [reflexivity|]. split; [assumption|].
      apply (promise_has_no_gap r now (decided s)); auto; lia.
    - exists s. split; [assumption|]. split; [assumption|].
    apply (promise_has_no_gap s now last); auto; lia. }
  split; [assumption|]. intro Hr. exact (held_excludes rival (signed r) now Hr H).
Qed.

(* S7, S9: an extension that is lost, comes late, or is shorter takes nothing from what was
   promised. While a promise lasts, its key stands on each node that granted it, whatever else was
   executed. *)
Theorem promised_key_stands r now n i j :
  won r -> promises r now -> In (n, i) (grants_counted r) -> good n -> (i < j)%nat ->
  at_time (nodes w n) j <= now ->
  (forall k kept, (i < k < j)%nat -> does (nodes w n) k <> Restart kept) ->
  key_stands (before (nodes w n) j) (signed r) (reads (nodes w n) i + ttl r).
Proof.
  intros Wr Pr Hin Hg Hij Hj Hk. pose proof Wr as [[_ V] _].
  destruct (V n i Hin) as [_ [Ti [Gi _]]].
  apply node_keeps_key; try assumption. intros k Hb. repeat split.
  - destruct (does (nodes w n) k) eqn:Ek; simpl; try exact I.
    + exact (Hk k _ Hb Ek).
    + exact (undisturbed_nodes n k _ Hg Ek).
  - intro Ek. destruct (own_releases n k _ Hg Ek) as [y [Hy Hle]]. destruct Pr as [_ [_ Hr]].
  specialize (Hr y Hy).
    pose proof (order n k j ltac:(lia)). lia.
  - apply (key_outlives_promise r now); try assumption.
    pose proof (order n i k ltac:(lia)). pose proof (order n k j ltac:(lia)). lia.
Qed.

End World.

(* Redlock: any count of nodes, any clients, any schedule of messages. *)
Theorem mutual_exclusion w a b now :
  in_order w -> clocks_run_right w [] -> undisturbed w [] -> releases_are_own w [] ->
  held w [] (quorum_of (node_count w)) a now -> held w [] (quorum_of (node_count w)) b now -> a = b.
Proof.
  intros. apply (held_excludes w [] (quorum_of (node_count w))) with (now := now); try assumption.
  simpl. pose proof (quorum_is_a_majority (node_count w)). lia.
Qed.

(* With a quorum larger by m, twice as many nodes may forget, be flushed, or have wild clocks. *)
Theorem larger_quorum_excludes w m bad a b now :
  (length bad <= 2 * m)%nat ->
  in_order w -> clocks_run_right w bad -> undisturbed w bad -> releases_are_own w bad ->
  held w bad (quorum_of (node_count w) + m) a now -> held w bad (quorum_of
    (node_count w) + m) b now -> a = b.
Proof.
  intros Hm. intros. apply (held_excludes w bad (quorum_of (node_count w) + m)) with (now := now);
    try assumption.
  apply (larger_quorums_bear_bad_nodes _ m); [reflexivity|assumption].
Qed.
