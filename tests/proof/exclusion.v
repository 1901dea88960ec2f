(* The theorem: no two rivals are promised the lock at the same time. It is about any kind of lock
   whose nodes keep a promise. plain.v, shared.v and fair.v say what nodes do, and prove that they
   keep it. *)
From Coq Require Import List ZArith Lia.
From redlock Require Import clocks quorum.
Import ListNotations.
Open Scope Z_scope.

(* What the argument must know of a kind of lock: what the events of a node are to a claim, for
   instance a token's, and which claims must not be held together. *)
Record kind := {
  history : Type;                                (* What one node executes, in its order. *)
  claim : Type;
  clock_of : history -> Z -> Z;                  (* Its clock, by which keys end. *)
  time_of : history -> nat -> Z;                 (* The real time of an event. *)
  gives : history -> nat -> claim -> Z -> Prop;  (* The event gives the claim the key for a TTL. *)
  takes_back : history -> nat -> claim -> Prop;  (* The event is a release of the claim. *)
  restarts : history -> nat -> Prop;             (* The node may have forgotten anything. *)
  is_disturbed : history -> nat -> Prop;         (* Somebody else has changed the key. *)
  rivals : claim -> claim -> Prop
}.

Definition symmetric (K : kind) := forall a b, rivals K a b -> rivals K b a.

(* No event is a grant to two rivals. *)
Definition gives_to_one (K : kind) :=
  forall h k a b ttl ttl', gives K h k a ttl -> gives K h k b ttl' -> ~ rivals K a b.

(* The promise of a node. It gives nothing to a rival unless it has forgotten, somebody has changed
   the key, the claim was released, or the TTL has run out by its own clock. *)
Definition keeps_promise (K : kind) :=
  forall h i j a b ttl ttl',
    gives K h i a ttl -> gives K h j b ttl' -> (i < j)%nat -> rivals K a b ->
    (forall k, (i < k < j)%nat ->
      ~ restarts K h k /\ ~ is_disturbed K h k /\ ~ takes_back K h k a) ->
    (forall k, (i < k <= j)%nat ->
      clock_of K h (time_of K h k) < clock_of K h (time_of K h i) + ttl) ->
    False.

Definition sound (K : kind) := symmetric K /\ gives_to_one K /\ keeps_promise K.

(* All nodes, each with its history of one resource, and all clients. *)
Record world (K : kind) := {
  node_count : nat;
  nodes : nat -> history K;
  client_clocks : nat -> Z -> Z;
  (* The real time from which its holder counts a claim as released, at most one for a claim, since
     each attempt has a token of its own (S6): acquire_begin. *)
  release_began : claim K -> option Z;
  clock_errors : errors;
  guard : Z
}.
Arguments node_count {K}. Arguments nodes {K}. Arguments client_clocks {K}.
Arguments release_began {K}. Arguments clock_errors {K}. Arguments guard {K}.

(* A round that acquires or extends, as its client counts it. A grant is a node and the number of
   the event there. *)
Record round (K : kind) := {
  client : nat;
  signed : claim K;
  ttl : Z;
  drift : Z;
  started : Z;
  decided : Z;
  grants_counted : list (nat * nat)
}.
Arguments client {K}. Arguments signed {K}. Arguments ttl {K}. Arguments drift {K}.
Arguments started {K}. Arguments decided {K}. Arguments grants_counted {K}.

Section World.
Context {K : kind}.
Variable w : world K.
(* Nodes that may break every rule. There are none unless the quorum is larger than needed. *)
Variable bad : list nat.
Variable quorum : nat.

Definition elapsed (r : round K) (now : Z) :=
  client_clocks w (client r) now - client_clocks w (client r) (started r).

(* ---- What is assumed of the surroundings ---- *)

Definition good (n : nat) := ~ In n bad.

(* A node executes one command after the other. *)
Definition in_order :=
  forall n i j, (i <= j)%nat -> time_of K (nodes w n) i <= time_of K (nodes w n) j.

(* S2: "clocks run at about the same rate, within the drift, and nobody steps a server's clock
   forward". *)
Definition clocks_run_right :=
  sane (clock_errors w) /\
  (forall n, good n -> server_clock (clock_errors w) (clock_of K (nodes w n))) /\
  (forall c, client_clock (clock_errors w) (client_clocks w c)).

(* "Keys are not deleted by others: no FLUSHALL, no eviction." S12 refuses nodes that another server
   may overwrite, check_identity. A failover that a client can see is a restart with an old memory,
   so it costs the guard (S30): note_server. *)
Definition undisturbed := forall n k, good n -> ~ is_disturbed K (nodes w n) k.

(* S5, S7, S27: a release names the token, and none is sent before its holder has stopped:
   release_begin, send.c. It may be executed at any later time. *)
Definition releases_are_own :=
  forall n k c, good n -> takes_back K (nodes w n) k c ->
    exists y, release_began w c = Some y /\ y <= time_of K (nodes w n) k.

(* ---- What a client does ---- *)

(* S3, S4, S8: a vote is the answer to this round's command, so the node has executed it after the
   round began and before it was decided: stake_vote, round_vote. A node votes once. *)
Definition votes_are_true (r : round K) :=
  NoDup (map fst (grants_counted r)) /\
  forall n i, In (n, i) (grants_counted r) ->
    (n < node_count w)%nat /\ gives K (nodes w n) i (signed r) (ttl r) /\
    started r <= time_of K (nodes w n) i <= decided r.

(* S11: a node that may have forgotten has no vote until a clock has counted the guard since then,
   and no TTL is longer than the guard: node_votes, stake_may_ask. The clock of a client counts it,
   or in part the server's uptime: client_counts, uptime_counts. A restart that forgets nothing
   (S23: canary_memory) is no event here. *)
Definition guard_is_kept (r : round K) :=
  ttl r <= guard w /\
  forall n i k, In (n, i) (grants_counted r) -> good n -> (k < i)%nat ->
    restarts K (nodes w n) k ->
    counted (clock_errors w) (guard w) (time_of K (nodes w n) k) (time_of K (nodes w n) i).

(* S1, S2: round_verdict, acquire_judge, extend_judge. *)
Definition won (r : round K) :=
  votes_are_true r /\ guard_is_kept r /\ covers (clock_errors w) (ttl r) (drift r) /\
  (quorum <= length (grants_counted r))%nat /\ elapsed r (decided r) + drift r < ttl r.

(* S10: what a round promises is computed at each question, lock_is_held, and ends with the validity
   or with a release. *)
Definition promises (r : round K) (now : Z) :=
  decided r <= now /\ elapsed r now + drift r < ttl r /\
  (forall y, release_began w (signed r) = Some y -> now < y).

(* A token is held while any round that it has signed promises it: the acquire, an extension (S9),
   or the extension of another process that has adopted the lock (S17). *)
Definition held (c : claim K) (now : Z) := exists r, signed r = c /\ won r /\ promises r now.

(* ---- The proof ---- *)

Hypothesis kind_is_sound : sound K.
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
    time_of K (nodes w n) i <= time <= now ->
  clock_of K (nodes w n) time < clock_of K (nodes w n) (time_of K (nodes w n) i) + ttl r.
Proof.
  intros [[_ Hv] [_ [Hc _]]] [Hd [He _]] Hin Hg Ht. destruct clocks as [Hx [Hs Hcl]].
  destruct (Hv n i Hin) as [_ [_ Hi]].
  set (begin := time_of K (nodes w n) i) in *. set (c := clock_of K (nodes w n)) in *.
  destruct (Z_lt_ge_dec (c time) (c begin + ttl r)) as [|Hge]; [assumption|exfalso].
  assert (now < time); [|lia].
  apply (client_ends_first _ _ _ _ (started r) now begin time Hx Hc (Hcl (client r))); try lia.
  - apply (server_counts _ c); [assumption|apply Hs; assumption|lia|lia].
  - unfold elapsed in He. lia.
Qed.

(* While a promise lasts, no release of it has been executed. *)
Lemma promise_is_not_released r now n k :
  promises r now -> good n -> time_of K (nodes w n) k <= now ->
    ~ takes_back K (nodes w n) k (signed r).
Proof.
  intros [_ [_ Hr]] Hg Hk E. destruct (own_releases n k _ Hg E) as [y [Hy Hle]].
  specialize (Hr y Hy). lia.
Qed.

(* Two promises whose common node granted a first, then b. *)
Lemma later_grant_is_refused a b now n i j :
  won a -> won b -> promises a now -> promises b now -> rivals K (signed a) (signed b) ->
  In (n, i) (grants_counted a) -> In (n, j) (grants_counted b) -> good n -> (i < j)%nat -> False.
Proof.
  intros Wa Wb Pa Pb Hne Ia Ib Hg Hij.
  pose proof Wa as [[_ Va] [[Ga _] [Ca _]]]. pose proof Wb as [[_ Vb] [[_ Gb] _]].
  destruct (Va n i Ia) as [_ [Gi Ai]]. destruct (Vb n j Ib) as [_ [Gj Aj]].
  pose proof Pa as [Da [Ea _]]. pose proof Pb as [Db _]. destruct clocks as [Hx [Hs Hcl]].
  destruct kind_is_sound as [_ [_ Hkeeps]].
  apply (Hkeeps (nodes w n) i j (signed a) (signed b) (ttl a) (ttl b)); try assumption.
  - intros k Hk. pose proof (order n i k ltac:(lia)). pose proof (order n k j ltac:(lia)).
  repeat split.
    + (* S11: it restarted in between, so b has waited for the guard, and a is over. *)
      intro Ek. pose proof (Gb n j k Ib Hg ltac:(lia) Ek) as Hguard.
      assert (now < time_of K (nodes w n) j); [|lia].
      apply (client_ends_first _ _ _ _ (started a) now (time_of K (nodes w n) k) (time_of K
        (nodes w n) j) Hx Ca
        (Hcl (client a))); try lia.
      * apply (counted_shorter _ (guard w)); assumption.
      * unfold elapsed in Ea. lia.
    + apply undisturbed_nodes. assumption.
    + apply (promise_is_not_released a now); try assumption. lia.
  - intros k Hk. pose proof (order n i k ltac:(lia)). pose proof (order n k j ltac:(lia)).
    apply (key_outlives_promise a now); try assumption. lia.
Qed.

Hypothesis quorums_meet : (node_count w + length bad < 2 * quorum)%nat.

Lemma rounds_share_a_node a b :
  won a -> won b -> exists n i j, In (n, i) (grants_counted a) /\ In (n, j) (grants_counted b) /\
    good n.
Proof.
  intros [Va [_ [_ [Qa _]]]] [Vb [_ [_ [Qb _]]]].
  destruct (sets_share_a_good_node (node_count w) _ _ bad (voters_are_nodes a Va)
    (voters_are_nodes b Vb))
    as [n [Ia [Ib Hg]]].
  { rewrite !map_length. lia. }
  apply in_map_iff in Ia. destruct Ia as [[n1 i] [E1 Ia]]. apply in_map_iff in Ib.
  destruct Ib as [[n2 j] [E2 Ib]].
  simpl in E1, E2. subst n1 n2. exists n, i, j. auto.
Qed.

Theorem promises_exclude a b now :
  won a -> won b -> promises a now -> promises b now -> ~ rivals K (signed a) (signed b).
Proof.
  intros Wa Wb Pa Pb Hne. destruct kind_is_sound as [Hsym [Hone _]].
  destruct (rounds_share_a_node a b Wa Wb) as [n [i [j [Ia [Ib Hg]]]]].
  destruct (lt_eq_lt_dec i j) as [[Hlt|Heq]|Hgt].
  - exact (later_grant_is_refused a b now n i j Wa Wb Pa Pb Hne Ia Ib Hg Hlt).
  - subst j. destruct Wa as [[_ Va] _]. destruct Wb as [[_ Vb] _].
    destruct (Va n i Ia) as [_ [Gi _]]. destruct (Vb n i Ib) as [_ [Gj _]].
    exact (Hone _ _ _ _ _ _ Gi Gj Hne).
  - exact (later_grant_is_refused b a now n j i Wb Wa Pb Pa (Hsym _ _ Hne) Ib Ia Hg Hgt).
Qed.

Theorem held_excludes a b now : held a now -> held b now -> ~ rivals K a b.
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

(* S9: an extension that a quorum confirms before the old validity ends (extend_judge) leaves no
   gap, so that no rival can hold the lock between the acquire and the end of the extension. *)
Theorem extension_leaves_no_gap r s now last rival :
  goes_forward (client_clocks w (client r)) -> goes_forward (client_clocks w (client s)) ->
  won r -> won s -> signed s = signed r -> promises r (decided s) -> promises s last ->
    decided r <= now <= last ->
  held (signed r) now /\ (held rival now -> ~ rivals K rival (signed r)).
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

End World.

(* Redlock: any number of nodes, any clients, any schedule of messages. *)
Theorem redlock_excludes (K : kind) (w : world K) a b now :
  sound K -> in_order w -> clocks_run_right w [] -> undisturbed w [] -> releases_are_own w [] ->
  held w [] (quorum_of (node_count w)) a now -> held w [] (quorum_of (node_count w)) b now ->
    ~ rivals K a b.
Proof.
  intros. apply (held_excludes w [] (quorum_of (node_count w))) with (now := now); try assumption.
  simpl. pose proof (quorum_is_a_majority (node_count w)). lia.
Qed.

(* With a quorum larger by m, twice as many nodes may forget, be flushed, or have wild clocks. *)
Theorem larger_quorum_excludes (K : kind) (w : world K) m bad a b now :
  (length bad <= 2 * m)%nat ->
  sound K -> in_order w -> clocks_run_right w bad -> undisturbed w bad -> releases_are_own w bad ->
  held w bad (quorum_of (node_count w) + m) a now -> held w bad (quorum_of
    (node_count w) + m) b now -> ~ rivals K a b.
Proof.
  intros Hm. intros. apply (held_excludes w bad (quorum_of (node_count w) + m)) with (now := now);
    try assumption.
  apply (larger_quorums_bear_bad_nodes _ m); [reflexivity|assumption].
Qed.
