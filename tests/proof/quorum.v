(* Quorums: any two have a node in common (S1). *)
From Coq Require Import List Arith Lia.
Import ListNotations.

(* quorum_of in redlock/quorum.c. S1: of the configured nodes, never of those that answered. *)
Definition quorum_of (node_count : nat) := node_count / 2 + 1.

Definition node_set (node_count : nat) (nodes : list nat) := NoDup nodes /\ forall n, In n nodes ->
  n < node_count.

Lemma quorum_is_a_majority node_count : node_count < 2 * quorum_of node_count.
Proof. unfold quorum_of. pose proof (Nat.div_mod node_count 2).
pose proof (Nat.mod_upper_bound node_count 2). lia. Qed.

(* No smaller number would do, for any count of nodes. *)
Lemma quorum_is_the_least_majority node_count q : node_count < 2 * q -> quorum_of node_count <= q.
Proof. unfold quorum_of. intros. pose proof (Nat.div_mod node_count 2).
pose proof (Nat.mod_upper_bound node_count 2). lia. Qed.

Lemma node_set_is_small node_count nodes : node_set node_count nodes -> length nodes <= node_count.
Proof.
  intros [Hd Hb]. rewrite <- (seq_length node_count 0). apply NoDup_incl_length; [assumption|].
  intros n Hn. apply in_seq. specialize (Hb n Hn). lia.
Qed.

Definition among (nodes : list nat) (n : nat) := if in_dec Nat.eq_dec n nodes then true else false.

Lemma among_spec nodes n : among nodes n = true <-> In n nodes.
Proof. unfold among. destruct (in_dec Nat.eq_dec n nodes); intuition congruence. Qed.

Lemma NoDup_both (a b : list nat) : NoDup a -> NoDup b -> (forall n, In n a -> ~ In n b) ->
  NoDup (a ++ b).
Proof.
  induction a as [|n a IH]; simpl; [auto|]. intros Ha Hb Hd. inversion Ha; subst. constructor.
  - rewrite in_app_iff. intros [?|?]; [auto|]. apply (Hd n); auto.
  - apply IH; auto.
Qed.

Lemma filter_both {A} (p : A -> bool) (a : list A) :
  length a = length (filter p a) + length (filter (fun n => negb (p n)) a).
Proof. induction a as [|n a IH]; simpl; [reflexivity|]. destruct (p n); simpl; lia. Qed.

(* Two sets of nodes share at least as many as their sizes exceed the number of nodes. *)
Lemma sets_share node_count a b :
  node_set node_count a -> node_set node_count b ->
  length a + length b <= node_count + length (filter (among b) a).
Proof.
  intros [Ha Ia] [Hb Ib]. rewrite (filter_both (among b) a).
  assert (H : node_set node_count (filter (fun n => negb (among b n)) a ++ b)).
  { split.
    - apply NoDup_both; [apply NoDup_filter; assumption|assumption|].
      intros n Hn. apply filter_In in Hn. destruct Hn as [_ Hn]. intro Hb'. apply among_spec in Hb'.
      rewrite Hb' in Hn. discriminate.
    - intros n Hn. apply in_app_iff in Hn. destruct Hn as [Hn|Hn]; [apply filter_In in Hn;
      apply Ia, Hn|apply Ib, Hn]. }
  apply node_set_is_small in H. rewrite app_length in H. lia.
Qed.

(* S1, with room: two sets that are together larger than all nodes and the bad ones share a node
   that is not bad. *)
Theorem sets_share_a_good_node node_count a b bad :
  node_set node_count a -> node_set node_count b -> node_count + length bad < length a + length b ->
  exists n, In n a /\ In n b /\ ~ In n bad.
Proof.
  intros Ha Hb Hl. pose proof (sets_share node_count a b Ha Hb) as Hs.
  destruct (Exists_dec (fun n => ~ In n bad) (filter (among b) a)) as [H|H].
  - intro n. destruct (in_dec Nat.eq_dec n bad); [right|left]; tauto.
  - apply Exists_exists in H. destruct H as [n [Hn Hg]]. apply filter_In in Hn.
  destruct Hn as [Hn Hm].
    apply among_spec in Hm. exists n. auto.
  - exfalso. assert (Hi : incl (filter (among b) a) bad).
    { intros n Hn. destruct (in_dec Nat.eq_dec n bad); [assumption|]. exfalso. apply H.
    apply Exists_exists. eauto. }
    apply NoDup_incl_length in Hi; [lia|]. apply NoDup_filter, Ha.
Qed.

(* A quorum larger by m bears twice as many nodes that break every rule. *)
Lemma larger_quorums_bear_bad_nodes node_count m bad q :
  q = quorum_of node_count + m -> bad <= 2 * m -> node_count + bad < 2 * q.
Proof. intros -> H. pose proof (quorum_is_a_majority node_count). lia. Qed.
