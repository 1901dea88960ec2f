(* Tickets, elsewhere called fencing tokens: a later holder has a larger number (S15). *)
From Coq Require Import List ZArith Lia Bool.
From redlock Require Import clocks quorum exclusion plain.
Import ListNotations.
Open Scope Z_scope.

(* Between i and j the node has forgotten its counter, and a clock has counted this span since then,
   by which time no older ticket matters. *)
Definition forgot (x : errors) (n : node) (span : Z) (i j : nat) :=
  exists from, at_time n i <= from <= at_time n j /\ counted x span from (at_time n j).

(* The counter of node n at event k is at least the ticket t and will be kept for a life from some
   event since i. *)
Definition remembers (n : node) (i : nat) (t l : Z) (k : nat) :=
  exists c m, counter (before n k) = Some c /\ t <= largest c /\ (i <= m < k)%nat /\
    reads n m + l <= forgotten c.

(* A life of the counter since i is over before k, or the node has restarted. *)
Definition lapsed (n : node) (i : nat) (l : Z) (k : nat) :=
  (exists m p, (i <= m <= p)%nat /\ (p < k)%nat /\ reads n m + l <= reads n p) \/
  (exists p kept, (i < p < k)%nat /\ does n p = Restart kept).

Definition long_lives (n : node) (l : Z) :=
  forall k t ttl f, does n k = Acquire t ttl (Some f) \/ does n k = Restore t ttl (Some f) ->
    l <= life f.

Lemma lapsed_later n i l k : lapsed n i l k -> lapsed n i l (S k).
Proof.
  intros [[m [p H]]|[p [kept H]]]; [left; exists m, p|right; exists p, kept]; intuition lia.
Qed.

(* A counter that is remembered stays, or grows, or its life is over. *)
Lemma counter_is_kept n i k t l :
  long_lives n l -> (i < k)%nat -> keeps_memory (does n k) ->
  remembers n i t l k -> remembers n i t l (S k) \/ lapsed n i l (S k).
Proof.
  intros Hl Hik Hm [c [m [Hc [Ht [Hmk Hf]]]]].
  destruct (Z_lt_ge_dec (reads n k) (forgotten c)) as [Hlt|Hge].
  2: { right. left. exists m, k. intuition lia. }
  left. assert (Hlive : live_counter (reads n k) (before n k) = Some c).
  { unfold live_counter. rewrite Hc. destruct (Z.ltb_spec (reads n k) (forgotten c));
    [reflexivity|lia]. }
  assert (Hlast : last_ticket (reads n k) (before n k) = largest c) by (unfold last_ticket;
    rewrite Hlive; reflexivity).
  assert (Hsame : forall s, counter s = Some c ->
            exists c' m', counter s = Some c' /\ t <= largest c' /\ (i <= m' < S k)%nat /\
              reads n m' + l <= forgotten c').
  { intros s Hs. exists c, m. intuition lia. }
  assert (Hnew : forall s f, l <= life f -> largest c < number f ->
            counter s = Some {| largest := number f; forgotten := reads n k + life f |} ->
            exists c' m', counter s = Some c' /\ t <= largest c' /\ (i <= m' < S k)%nat /\
              reads n m' + l <= forgotten c').
  { intros s f H1 H2 Hs. eexists _, k. split; [exact Hs|]. simpl. lia. }
  unfold remembers. rewrite before_S. destruct (does n k) as [t' ttl fence|t' ttl|t' ttl fence|t'|
    |kept|after] eqn:E;
    simpl in Hm; try contradiction; unfold step, grants.
  - destruct (live_key (reads n k) (before n k)); [apply Hsame; assumption|].
    destruct fence as [f|]; unfold accepts_ticket.
    + rewrite Hlast. destruct (Z.ltb_spec (largest c) (number f)); simpl; [|apply Hsame;
      assumption].
      destruct (negb (is_ahead (reads n k) f)); [|apply Hsame; assumption].
      apply (Hnew _ f); [apply (Hl k t' ttl); auto|lia|reflexivity].
    + apply Hsame. simpl. assumption.
  - destruct (holds_token _ _ _); apply Hsame; assumption.
  - destruct (may_restore _ _ _ _); [|apply Hsame; assumption].
    unfold count_restored. destruct fence as [f|]; [|apply Hsame; assumption].
    rewrite Hlast. destruct (Z.ltb_spec (largest c) (number f)); [|apply Hsame; assumption].
    apply (Hnew _ f); [apply (Hl k t' ttl); auto|lia|reflexivity].
  - destruct (holds_token _ _ _); apply Hsame; assumption.
  - apply Hsame. assumption.
Qed.

(* After a grant with a ticket a node remembers it, or a counter's life is over, or it has
   restarted. *)
Lemma ticket_is_remembered n i j t ttl f l :
  long_lives n l -> does n i = Acquire t ttl (Some f) -> granted n i -> (i < j)%nat ->
  (forall k after, (i < k < j)%nat -> does n k <> Foreign after) ->
  remembers n i (number f) l j \/ lapsed n i l j.
Proof.
  intros Hl Hi Hg Hij. induction Hij as [|j Hij IH]; intros Hf.
  - left. unfold granted in Hg. unfold remembers. rewrite before_S, Hi. unfold step.
  rewrite Hi in Hg. rewrite Hg. simpl.
    eexists _, i. split; [reflexivity|]. simpl. pose proof (Hl i t ttl f (or_introl Hi)). lia.
  - destruct IH as [Hr|Hr]; [intros; apply Hf; lia| |right; apply lapsed_later; assumption].
    destruct (does n j) as [| | | | |kept|after] eqn:E.
    6: { right. right. exists j, kept. intuition lia. }
    6: { exfalso. apply (Hf j after); [lia|assumption]. }
    all: apply counter_is_kept; try assumption; try lia; rewrite E; exact I.
Qed.

Section World.
Variable w : world plain.
Variable bad : list nat.
Variable quorum : nat.
Variable skews : Z.     (* How far a ticket may be ahead of a node's clock: ticket_skew_ms. *)
Variable differ : Z.    (* How far a wall clock may be from true time. *)

(* Clients' wall clocks. A node's clock is a wall clock, since Redis expires by it. *)
Variable walls : nat -> Z -> Z.

(* A won acquire whose nodes have granted the same ticket. *)
Definition won_with (r : round plain) (f : ticket) :=
  won w bad quorum r /\
  forall n i, In (n, i) (grants_counted r) ->
    does (nodes w n) i = Acquire (signed r) (ttl r) (Some f).

(* ---- What is assumed for tickets ---- *)

(* "If wall clocks differ by less than --skew." They differ from each other by twice as much as from
   true time. A little less than the skew is left if clocks run fast, since they also count the
   guard, and nothing is added to it for that. *)
Definition walls_agree :=
  0 <= differ /\ 0 <= skews /\
  (2 * differ + skews) * (million + fast (clock_errors w)) <= 2 * skews * million /\
  (forall n t, good bad n -> t - differ <= clock (nodes w n) t <= t + differ) /\
  (forall c t, t - differ <= walls c t <= t + differ).

(* S15: the number is at least the wall clock at the start of the round, ticket_propose; the largest
   number that a node may grant comes with it (ahead.lua). *)
Definition proposes (r : round plain) (f : ticket) :=
  walls (client r) (started r) <= number f /\ skew f = skews.

(* S15: the guard for tickets is longer by twice the skew: guard_us. *)
Definition guard_for_tickets_is_kept (r : round plain) :=
  forall n i k, In (n, i) (grants_counted r) -> good bad n -> (k < i)%nat ->
    restarts plain (nodes w n) k ->
    counted (clock_errors w) (guard w + 2 * skews) (at_time (nodes w n) k) (at_time (nodes w n) i).

(* S15: "a counter must outlive every attempt from before a restart", ticket_check. *)
Definition counters_live_long :=
  forall n, good bad n -> long_lives (nodes w n) (guard w + 2 * skews).

Hypothesis in_turn : in_order w.
Hypothesis clocks : clocks_run_right w bad.
Hypothesis undisturbed_nodes : undisturbed w bad.
Hypothesis agreement : walls_agree.
Hypothesis lives : counters_live_long.

Let order n i j : (i <= j)%nat -> at_time (nodes w n) i <= at_time (nodes w n) j := in_turn n i j.

(* A node that has forgotten a ticket grants one that the wall clocks make larger. *)
Lemma clocks_make_tickets_grow a b f g n i j :
  won_with a f -> won_with b g -> proposes a f -> proposes b g ->
  In (n, i) (grants_counted a) -> In (n, j) (grants_counted b) -> good bad n ->
  forgot (clock_errors w) (nodes w n) (guard w + 2 * skews) i j -> number f < number g.
Proof.
  intros [[Wa _] Fa] [[Vb [[Gb _] [Cb [_ Eb]]]] Fb] [_ Sa] [Pb _] Ia Ib Hg [from [Hfrom Hc]].
  destruct clocks as [Hx [_ Hcl]]. destruct agreement as [Hd [Hs [Hroom [Hn Hw]]]].
  destruct (proj2 Wa n i Ia) as [_ [[_ Gi] _]]. destruct (proj2 Vb n j Ib) as [_ [_ Bj]].
  as_plain.
  assert (A : number f <= at_time (nodes w n) i + differ + skews).
  { unfold granted in Gi. rewrite (Fa n i Ia) in Gi. simpl in Gi.
    destruct (live_key _ _); [discriminate|]. apply andb_true_iff in Gi. destruct Gi as [_ Gi].
    unfold is_ahead in Gi. apply negb_true_iff, Z.ltb_ge in Gi. rewrite Sa in Gi.
    unfold reads in Gi.
    pose proof (Hn n (at_time (nodes w n) i) Hg). lia. }
  assert (B : started b - differ <= number g) by (pose proof (Hw (client b) (started b)); lia).
  assert (C : 2 * differ + skews < started b - at_time (nodes w n) i); [|lia].
  (* b was decided in time, so its start is not far before its grant. *)
  destruct (Hcl (client b)) as [_ Hslow].
  assert (H1 := Hslow (started b) (decided b) ltac:(lia)). unfold elapsed in Eb.
  unfold covers in Cb. unfold counted in Hc. destruct Hx as [Hf [Hl [Hsg Hcg]]].
  set (X := clock_errors w) in *. set (F := fast X) in *. set (L := slow X) in *.
  unfold million in *.
  set (sb := started b) in *. set (ti := at_time (nodes w n) i) in *.
  set (tj := at_time (nodes w n) j) in *.
  assert (H2 : (1000000 - L) * (tj - sb) <= (1000000 - L) * (decided b - sb))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  assert (H3 : (1000000 - L) * (tj - sb) < 1000000 * (ttl b - drift b + client_grain X)) by lia.
  assert (H4 : (1000000 + F) * ((1000000 - L) * (tj - sb)) < (1000000 + F) * (1000000 *
    (ttl b - drift b + client_grain X)))
    by (apply Z.mul_lt_mono_pos_l; lia).
  assert (H5 : (1000000 - L) * ((1000000 + F) * (tj - sb)) < (1000000 - L) * (1000000 *
    (ttl b - server_grain X - client_grain X)))
    by lia.
  assert (H6 : (1000000 + F) * (tj - sb) < 1000000 * (ttl b - server_grain X - client_grain X))
    by (apply (Z.mul_lt_mono_pos_l (1000000 - L)); lia).
  assert (H7 : (1000000 + F) * (from - ti) >= 0) by nia.
  assert (H8 : 1000000 * (2 * skews) < (1000000 + F) * (sb - ti)) by lia.
  destruct (Z_lt_ge_dec (2 * differ + skews) (sb - ti)) as [|Hge]; [assumption|exfalso].
  assert (H9 : (1000000 + F) * (sb - ti) <= (1000000 + F) * (2 * differ + skews))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  lia.
Qed.

(* Of two acquires that a node has granted, the later one has the larger ticket. *)
Lemma later_grant_has_larger_ticket a b f g n i j :
  won_with a f -> won_with b g -> proposes a f -> proposes b g -> guard_for_tickets_is_kept b ->
  In (n, i) (grants_counted a) -> In (n, j) (grants_counted b) -> good bad n -> (i < j)%nat ->
    number f < number g.
Proof.
  intros Wa Wb Pa Pb Kb Ia Ib Hg Hij. pose proof Wa as [[Va _] Fa]. pose proof Wb as [[Vb _] Fb].
  destruct (proj2 Va n i Ia) as [_ [[_ Gi] _]]. destruct (proj2 Vb n j Ib) as [_ [[_ Gj] _]].
  set (l := guard w + 2 * skews). destruct clocks as [Hx [Hs _]].
  pose proof (order n i j ltac:(lia)).
  assert (Hlate : forall m p, (i <= m <= p)%nat -> (p <= j)%nat ->
    reads (nodes w n) m + l <= reads (nodes w n) p ->
            forgot (clock_errors w) (nodes w n) l i j).
  { intros m p Hm Hp Hr. pose proof (order n i m ltac:(lia)). pose proof (order n m p ltac:(lia)).
    pose proof (order n p j ltac:(lia)). exists (at_time (nodes w n) m). split; [lia|].
    pose proof (server_counts _ (clock (nodes w n)) l (at_time (nodes w n) m) (at_time
      (nodes w n) p) Hx (Hs n Hg) ltac:(lia)) as Hc.
    unfold reads in Hr. specialize (Hc ltac:(lia)). unfold counted, million in *.
    destruct Hx as [Hf _].
    set (tm := at_time (nodes w n) m) in *. set (tp := at_time (nodes w n) p) in *.
    set (tj := at_time (nodes w n) j) in *. set (F := fast (clock_errors w)) in *.
    assert (0 <= (1000000 + F) * (tj - tp)) by (apply Z.mul_nonneg_nonneg; lia). lia. }
  destruct (ticket_is_remembered (nodes w n) i j (signed a) (ttl a) f l) as [Hr|[Hl|Hl]];
    try assumption.
  - apply lives; assumption.
  - apply Fa; assumption.
  - intros k after _ E. apply (undisturbed_nodes n k Hg). exists after. assumption.
  - destruct Hr as [c [m [Hc [Ht [Hm Hfor]]]]].
    destruct (Z_lt_ge_dec (reads (nodes w n) j) (forgotten c)) as [Hlt|Hge].
    + unfold granted in Gj. rewrite (Fb n j Ib) in Gj. simpl in Gj.
    destruct (live_key _ _); [discriminate|].
      apply andb_true_iff in Gj. destruct Gj as [Gj _]. apply Z.ltb_lt in Gj.
      unfold last_ticket, live_counter in Gj.
      rewrite Hc in Gj. destruct (Z.ltb_spec (reads (nodes w n) j) (forgotten c)); lia.
    + apply (clocks_make_tickets_grow a b f g n i j); try assumption. apply (Hlate m j); lia.
  - destruct Hl as [m [p [Hm [Hp Hr]]]]. apply (clocks_make_tickets_grow a b f g n i j);
    try assumption.
    apply (Hlate m p); try assumption. lia.
  - destruct Hl as [p [kept [Hp Ep]]]. apply (clocks_make_tickets_grow a b f g n i j);
    try assumption.
    exists (at_time (nodes w n) p). split; [pose proof (order n i p ltac:(lia));
      pose proof (order n p j ltac:(lia)); lia|].
    apply (Kb n j p); try assumption; [lia|exists kept; assumption].
Qed.

Hypothesis quorums_meet : (node_count w + length bad < 2 * quorum)%nat.

(* S15: a ticket is strictly larger than every ticket of a holder that had it before this acquire
   began. *)
Theorem tickets_grow a b f g :
  won_with a f -> won_with b g -> proposes a f -> proposes b g -> guard_for_tickets_is_kept b ->
  signed a <> signed b -> decided a < started b -> number f < number g.
Proof.
  intros Wa Wb Pa Pb Kb Hne Hab. pose proof Wa as [[Va _] Fa]. pose proof Wb as [[Vb _] Fb].
  destruct (rounds_share_a_node w bad quorum quorums_meet a b (proj1 Wa)
    (proj1 Wb)) as [n [i [j [Ia [Ib Hg]]]]].
  destruct (lt_eq_lt_dec i j) as [[Hlt|Heq]|Hgt].
  - exact (later_grant_has_larger_ticket a b f g n i j Wa Wb Pa Pb Kb Ia Ib Hg Hlt).
  - subst j. pose proof (Fa n i Ia) as E. rewrite (Fb n i Ib) in E. inversion E. congruence.
  - (* b was granted before a was, but began after a had been decided. *)
    exfalso. destruct (proj2 Va n i Ia) as [_ [_ Ai]].
    destruct (proj2 Vb n j Ib) as [_ [_ Bj]]. as_plain.
    pose proof (order n j i ltac:(lia)) as Ho.
    lia.
Qed.

(* No ticket is given twice. *)
Theorem tickets_differ a b f g :
  won_with a f -> won_with b g -> proposes a f -> proposes b g ->
  guard_for_tickets_is_kept a -> guard_for_tickets_is_kept b -> signed a <> signed b ->
    number f <> number g.
Proof.
  intros Wa Wb Pa Pb Ka Kb Hne. pose proof Wa as [_ Fa]. pose proof Wb as [_ Fb].
  destruct (rounds_share_a_node w bad quorum quorums_meet a b (proj1 Wa)
    (proj1 Wb)) as [n [i [j [Ia [Ib Hg]]]]].
  destruct (lt_eq_lt_dec i j) as [[Hlt|Heq]|Hgt].
  - pose proof (later_grant_has_larger_ticket a b f g n i j Wa Wb Pa Pb Kb Ia Ib Hg Hlt). lia.
  - subst j. pose proof (Fa n i Ia) as E. rewrite (Fb n i Ib) in E. inversion E. congruence.
  - pose proof (later_grant_has_larger_ticket b a g f n j i Wb Wa Pb Pa Ka Ib Ia Hg Hgt). lia.
Qed.

End World.

(* ---- The resource ---- *)

(* redlock_fence.h: the resource refuses a ticket that is smaller than the largest that it has seen.
   *)
Definition admits (seen shown : Z) : bool := seen <=? shown.
Definition look (seen shown : Z) : Z := if admits seen shown then shown else seen.
Definition look_at_all (seen : Z) (shown : list Z) : Z := fold_left look shown seen.

Lemma seen_grows shown : forall seen, seen <= look_at_all seen shown.
Proof.
  induction shown as [|t shown IH]; intro seen; simpl; [unfold look_at_all; simpl; lia|].
  unfold look_at_all in *. simpl. specialize (IH (look seen t)). unfold look, admits in *.
  destruct (Z.leb_spec seen t); lia.
Qed.

(* Once a later holder has shown its ticket, whatever others show, an earlier one is refused. *)
Theorem resource_refuses_late_holder earlier later seen shown :
  earlier < later -> admits seen later = true -> admits (look_at_all
    (look seen later) shown) earlier = false.
Proof.
  intros H Ha. pose proof (seen_grows shown (look seen later)) as G. unfold look in *.
  rewrite Ha in *.
  unfold admits. apply Z.leb_gt. lia.
Qed.
