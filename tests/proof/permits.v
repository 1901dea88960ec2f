(* One of k permits (S20): each slot is a plain lock. And why permits must not be counted on each
   node. *)
From Coq Require Import List ZArith Arith Lia.
From redlock Require Import clocks quorum exclusion plain.
Import ListNotations.
Open Scope nat_scope.

(* Slot j of the resource is a plain world. There permit_acquire.lua is an acquire or nothing,
   permit_restore.lua a restore of the held slot and a release of each other one. A round counts the
   grants of one slot: count_votes. *)
Definition keeps_rules (w : world plain) :=
  in_order w /\ clocks_run_right w [] /\ undisturbed w [] /\ releases_are_own w [].

Definition has_permit (slots : nat -> world plain) (now : Z) (p : nat * token) :=
  held (slots (fst p)) [] (quorum_of (node_count (slots (fst p)))) (snd p) now.

Lemma holders_have_slots_of_their_own slots now (holders : list (nat * token)) :
  (forall j, keeps_rules (slots j)) -> NoDup (map snd holders) -> (forall p, In p holders ->
    has_permit slots now p) ->
  NoDup (map fst holders).
Proof.
  intros Hk. induction holders as [|[j t] l IH]; simpl; intros Hd Hh; [constructor|].
  inversion Hd; subst.
  constructor; [|apply IH; auto]. intro Hin. apply in_map_iff in Hin.
  destruct Hin as [[j' t'] [E Hin]]. simpl in E. subst j'.
  destruct (Hk j) as [Ho [Hc [Hu Hr]]].
  assert (t = t').
  { apply (mutual_exclusion (slots j) t t' now Ho Hc Hu Hr); [apply (Hh (j, t));
    auto|apply (Hh (j, t')); auto]. }
  subst t'. apply H1. apply in_map_iff. exists (j, t). auto.
Qed.

(* S20: with k slots at most k clients hold a permit. *)
Theorem no_more_holders_than_permits slots (k : nat) now (holders : list (nat * token)) :
  (forall j, keeps_rules (slots j)) -> NoDup (map snd holders) ->
  (forall p, In p holders -> fst p < k /\ has_permit slots now p) -> length holders <= k.
Proof.
  intros Hk Hd Hh. rewrite <- (map_length fst). apply node_set_is_small. split.
  - apply (holders_have_slots_of_their_own slots now); try assumption. intros p Hp. apply Hh.
  assumption.
  - intros n Hn. apply in_map_iff in Hn. destruct Hn as [p [<- Hp]]. apply Hh. assumption.
Qed.

(* ---- Permits counted on each node ---- *)

(* If no node lets in more than m, and a holder needs q nodes, the holders' grants are at most N *
   m. *)
Definition load (sets : list (list nat)) (n : nat) := length (filter (fun s => among s n) sets).

Lemma sum_of_loads sets nodes :
  NoDup nodes -> (forall s, In s sets -> NoDup s /\ incl s nodes) ->
  list_sum (map (@length nat) sets) = list_sum (map (load sets) nodes).
Proof.
  intros Hn. induction sets as [|s sets IH]; intros Hs.
  - simpl. clear. induction nodes; simpl; auto.
  - simpl. rewrite IH by (intros; apply Hs; simpl; auto).
  destruct (Hs s (or_introl eq_refl)) as [Hd Hi].
    assert (E : length s = length (filter (among s) nodes)).
    { apply Nat.le_antisymm.
      - apply NoDup_incl_length; [assumption|]. intros x Hx. apply filter_In. split; [auto|].
      apply among_spec. assumption.
      - apply NoDup_incl_length; [apply NoDup_filter; assumption|]. intros x Hx.
      apply filter_In in Hx. apply among_spec, Hx. }
    rewrite E. clear. induction nodes as [|n nodes IH]; simpl; [reflexivity|].
    assert (L : load (s :: sets) n = (if among s n then 1 else 0) + load sets n).
    { unfold load. simpl. destruct (among s n); reflexivity. }
    rewrite L. destruct (among s n); simpl in *; lia.
Qed.

Lemma sum_is_bounded (f : nat -> nat) m l : (forall n, f n <= m) ->
  list_sum (map f l) <= length l * m.
Proof. intro H. induction l as [|n l IH]; simpl; [lia|]. specialize (H n). lia. Qed.

Theorem counting_bounds_holders node_count q m sets :
  (forall s, In s sets -> node_set node_count s /\ q <= length s) -> (forall n, load sets n <= m) ->
  length sets * q <= node_count * m.
Proof.
  intros Hs Hm. apply Nat.le_trans with (list_sum (map (@length nat) sets)).
  - clear Hm. induction sets as [|s sets IH]; simpl; [lia|]. destruct (Hs s (or_introl eq_refl)).
    specialize (IH (fun x H' => Hs x (or_intror H'))). lia.
  - rewrite (sum_of_loads sets (seq 0 node_count)).
    + rewrite <- (seq_length node_count 0) at 2. apply sum_is_bounded. assumption.
    + apply seq_NoDup.
    + intros s H. destruct (Hs s H) as [[Hd Hb] _]. split; [assumption|]. intros x Hx. apply in_seq.
    specialize (Hb x Hx). lia.
Qed.

(* So counting is right only if a node lets in fewer than k, and then k clients seldom get in. *)
Corollary few_enough_on_each_node node_count q m k sets :
  (forall s, In s sets -> node_set node_count s /\ q <= length s) -> (forall n, load sets n <= m) ->
  node_count * m < q * (k + 1) -> length sets <= k.
Proof. intros Hs Hm Hk. pose proof (counting_bounds_holders node_count q m sets Hs Hm). nia. Qed.

(* Two permits, three nodes, each lets in two: three clients have a quorum. *)
Theorem counting_lets_in_one_too_many :
  exists sets, length sets = 3 /\ (forall s, In s sets ->
    node_set 3 s /\ quorum_of 3 <= length s) /\ forall n, load sets n <= 2.
Proof.
  exists [[0; 1]; [1; 2]; [2; 0]]. split; [reflexivity|]. split.
  - intros s H. simpl in H. repeat destruct H as [<-|H]; try contradiction;
      (split; [split; [repeat constructor; simpl; lia|simpl; lia]|vm_compute; lia]).
  - intro n. destruct n as [|[|[|n]]]; vm_compute; lia.
Qed.
