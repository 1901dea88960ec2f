(* Jobs that run once per period (S18): of one period, at most one marker gets a quorum of marks. No
   lock and no clock rate is needed for that, only nodes that do not forget a mark while its period
   can still be marked. *)
From Coq Require Import List ZArith Lia Bool.
From redlock Require Import quorum.
Import ListNotations.
Open Scope Z_scope.

(* "resource#done": the beginning of the period, which names it, and its marker. *)
Record mark := { period : Z; marker : nat; ends : Z }.

Inductive event :=
(* period_mark.lua; asked: by the marker's wall clock *)
| Mark (p : Z) (m : nat) (asked : Z) (life : Z) (skew : Z)
| Restart (remembered : option mark)
| Other.

Definition live (now : Z) (s : option mark) : option mark :=
  match s with Some k => if now <? ends k then Some k else None | None => None end.

Definition grants (now : Z) (s : option mark) (e : event) : bool :=
  match e with
  | Mark p m asked life skew =>
      (now - skew <=? asked) && (asked <=? now + skew) &&
      match live now s with
      | None => true
      | Some k => (period k <? p) || ((period k =? p) && Nat.eqb (marker k) m)
      end
  | _ => false
  end.

Definition step (now : Z) (s : option mark) (e : event) : option mark :=
  match e with
  | Mark p m asked life skew =>
      if grants now s e then
        Some {| period := p; marker := m;
                ends := match live now s with None => now + life | Some k => Z.max (ends k)
                  (now + life) end |}
      else s
  | Restart kept => kept
  | Other => live now s
  end.

Record node := { clock : Z -> Z; first : option mark; at_time : nat -> Z; does : nat -> event }.
Fixpoint before (n : node) (k : nat) : option mark :=
  match k with O => first n | S k => step (clock n (at_time n k)) (before n k) (does n k) end.
Definition reads (n : node) (k : nat) : Z := clock n (at_time n k).
Lemma before_S n k : before n (S k) = step (reads n k) (before n k) (does n k).
Proof. reflexivity. Qed.

(* The period is marked by m or a later period is, for long enough. *)
Definition stands (s : option mark) (p : Z) (m : nat) (until : Z) : Prop :=
  exists k, s = Some k /\ until <= ends k /\ (p < period k \/ (period k = p /\ marker k = m)).

Lemma step_keeps_mark now s e p m until :
  stands s p m until -> now < until -> (forall kept, e <> Restart kept) ->
    stands (step now s e) p m until.
Proof.
  intros [k [-> [He Hk]]] Hn Hr.
  assert (Hl : live now (Some k) = Some k) by (simpl; destruct (Z.ltb_spec now (ends k));
    [reflexivity|lia]).
  destruct e as [p' m' asked life skew|kept|]; unfold step; [|destruct (Hr kept);
    reflexivity|rewrite Hl; exists k; auto].
  destruct (grants now (Some k) (Mark p' m' asked life skew)) eqn:E; [|exists k; auto].
  unfold grants in E. rewrite Hl in *. apply andb_true_iff in E. destruct E as [_ E].
  eexists. split; [reflexivity|]. simpl. split; [lia|].
  apply orb_true_iff in E. destruct E as [E|E].
  - apply Z.ltb_lt in E. left. lia.
  - apply andb_true_iff in E. destruct E as [E1 E2]. apply Z.eqb_eq in E1. apply Nat.eqb_eq in E2.
  subst.
    destruct Hk as [Hk|[Hk1 Hk2]]; [left; lia|right; auto].
Qed.

Section World.
Variable node_count : nat.
Variable nodes : nat -> node.
Variable skew : Z.      (* ticket_skew_ms *)
Variable back : Z.      (* How far a node's clock may be set back. *)
Variable span : Z.      (* How long after its beginning a period may be marked: SPAN_PERIODS. *)

(* A client's round of marks: the nodes that have taken the mark, each with the number of the event.
   *)
Record round := { of : Z; by_whom : nat; taken : list (nat * nat) }.

(* S18: a quorum of different nodes has taken the mark: judge_mark. The client asks within the span,
   by its own wall clock (is_too_late), and the mark lives longer than any mark of the period may be
   late (life_ms: a period longer than this span). A node takes no part if it has restarted since
   anybody may have marked the period (is_forgetful). The slack, by which a period begins earlier,
   is left out: all times here are later by it. *)
Definition won (r : round) :=
  NoDup (map fst (taken r)) /\ (quorum_of node_count <= length (taken r))%nat /\
  forall n i, In (n, i) (taken r) ->
    (n < node_count)%nat /\
    exists asked life, does (nodes n) i = Mark (of r) (by_whom r) asked life skew /\
      grants (reads (nodes n) i) (before (nodes n) i) (does (nodes n) i) = true /\
      of r <= asked <= of r + span /\ span + 2 * skew + back < life /\
      (forall k kept, (k < i)%nat -> does (nodes n) k = Restart kept ->
        reads (nodes n) k < of r - skew - back).

(* A node's clock may be set back a little, by less than the skew if wall clocks agree at all times.
   *)
Definition clocks_go_forward := 0 <= back /\ forall n i j, (i <= j)%nat ->
  reads (nodes n) i <= reads (nodes n) j + back.

Hypothesis forward : clocks_go_forward.

Lemma later_mark_is_refused a b n i j :
  won a -> won b -> of a = of b -> by_whom a <> by_whom b -> In (n, i) (taken a) ->
    In (n, j) (taken b) -> (i < j)%nat -> False.
Proof.
  intros [_ [_ Ha]] [_ [_ Hb]] Ho Hm Ia Ib Hij.
  destruct (Ha n i Ia) as [_ [asked [life [Ei [Gi [Ai [Li _]]]]]]].
  destruct (Hb n j Ib) as [_ [asked' [life' [Ej [Gj [Aj [_ Rj]]]]]]].
  unfold grants in Gi, Gj. rewrite Ei in Gi. rewrite Ej in Gj.
  apply andb_true_iff in Gi. destruct Gi as [Wi Gi]. apply andb_true_iff in Gj.
  destruct Gj as [Wj Gj].
  apply andb_true_iff in Wi. destruct Wi as [Wi1 Wi2]. apply andb_true_iff in Wj.
  destruct Wj as [Wj1 Wj2].
  apply Z.leb_le in Wi1, Wi2, Wj1, Wj2.
  assert (Hs : forall k, (i < k <= j)%nat -> stands (before (nodes n) k) (of a) (by_whom a) (reads
    (nodes n) i + life)).
  { intros k [Hik Hkj]. induction Hik as [|k Hik IH]; rewrite before_S.
    - rewrite Ei. unfold step, grants. rewrite (proj2 (Z.leb_le _ _) Wi1),
      (proj2 (Z.leb_le _ _) Wi2), Gi. simpl.
      eexists. split; [reflexivity|]. simpl. split; [destruct (live _ _); lia|auto].
    - apply step_keeps_mark; [apply IH; lia| |].
      + pose proof (proj2 forward n k j ltac:(lia)). lia.
      + intros kept E. pose proof (Rj k kept ltac:(lia) E).
      pose proof (proj2 forward n i k ltac:(lia)).
      lia. }
  pose proof (proj1 forward). destruct (Hs j ltac:(lia)) as [k [Ek [He Hk]]].
  assert (Hl : live (reads (nodes n) j) (before (nodes n) j) = Some k).
  { rewrite Ek. simpl. destruct (Z.ltb_spec (reads (nodes n) j) (ends k)); [reflexivity|lia]. }
  rewrite Hl in Gj. apply orb_true_iff in Gj. destruct Gj as [Gj|Gj].
  - apply Z.ltb_lt in Gj. lia.
  - apply andb_true_iff in Gj. destruct Gj as [G1 G2]. apply Z.eqb_eq in G1. apply Nat.eqb_eq in G2.
    destruct Hk as [Hk|[_ Hk]]; [lia|congruence].
Qed.

(* S18: nobody else has begun in this period, or will. *)
Theorem period_has_one_marker a b : won a -> won b -> of a = of b -> by_whom a = by_whom b.
Proof.
  intros Wa Wb Ho. destruct (Nat.eq_dec (by_whom a) (by_whom b)) as [|Hm]; [assumption|exfalso].
  assert (S : forall r, won r -> node_set node_count (map fst (taken r))).
  { intros r [Hd [_ Hv]]. split; [assumption|]. intros n Hn. apply in_map_iff in Hn.
  destruct Hn as [[n' i] [<- Hin]].
    apply (Hv n' i Hin). }
  destruct (sets_share_a_good_node node_count _ _ [] (S a Wa) (S b Wb)) as [n [Ia [Ib _]]].
  { rewrite !map_length. pose proof (quorum_is_a_majority node_count).
  destruct Wa as [_ [Qa _]], Wb as [_ [Qb _]]. simpl. lia. }
  apply in_map_iff in Ia. destruct Ia as [[n1 i] [E1 Ia]]. apply in_map_iff in Ib.
  destruct Ib as [[n2 j] [E2 Ib]].
  simpl in E1, E2. subst n1 n2. destruct (lt_eq_lt_dec i j) as [[Hlt|Heq]|Hgt].
  - exact (later_mark_is_refused a b n i j Wa Wb Ho Hm Ia Ib Hlt).
  - subst j. destruct Wa as [_ [_ Va]], Wb as [_ [_ Vb]].
    destruct (Va n i Ia) as [_ [? [? [Ei _]]]], (Vb n i Ib) as [_ [? [? [Ej _]]]]. rewrite Ei in Ej.
    inversion Ej. congruence.
  - exact (later_mark_is_refused b a n j i Wb Wa (eq_sym Ho) (not_eq_sym Hm) Ib Ia Hgt).
Qed.

End World.
