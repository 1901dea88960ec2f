(* Readers and writers (S21), and locks that change their role (S22): one resource on one node. A
   writer is never beside another holder. *)
From Coq Require Import List ZArith Lia Bool.
From redlock Require Import clocks quorum exclusion.
Import ListNotations.
Open Scope Z_scope.

(* A token belongs to one lock, from its acquire to its release, and is made anew for each change of
   its role (S6). *)
Record token := { lock : nat; digits : nat }.

Definition same (a b : token) : bool := Nat.eqb (lock a) (lock b) && Nat.eqb (digits a) (digits b).

Lemma same_spec a b : reflect (a = b) (same a b).
Proof.
  destruct a as [l d], b as [l' d']. unfold same. simpl.
  destruct (Nat.eqb_spec l l'), (Nat.eqb_spec d d'); simpl; constructor; congruence.
Qed.

(* The key holds a writer's token, or the text "~shared"; the sorted set beside it has the readers,
   each with its end. *)
Inductive value := Writer (t : token) | Shared.
Record state := { key : option (value * Z); readers : list (token * Z) }.

Definition live_key (now : Z) (s : state) : option (value * Z) :=
  match key s with Some (v, e) => if now <? e then Some (v, e) else None | None => None end.

(* ZREMRANGEBYSCORE, ZREM, the score of the last, ZSCORE, and whether ZCARD is 1. *)
Definition live_readers (now : Z) (l : list (token * Z)) := filter (fun p => now <? snd p) l.
Definition without (t : token) (l : list (token * Z)) :=
  filter (fun p => negb (same (fst p) t)) l.
Definition longest (l : list (token * Z)) : Z := fold_right (fun p e => Z.max (snd p) e) 0 l.
Definition score (t : token) (l : list (token * Z)) : Z :=
  longest (filter (fun p => same (fst p) t) l).
Definition is_alone (t : token) (l : list (token * Z)) : bool :=
  forallb (fun p => same (fst p) t) l.

(* admit.lua: the key lives as long as its longest reader. *)
Definition let_in (t : token) (until : Z) (l : list (token * Z)) : state :=
  let l' := (t, until) :: without t l in {| key := Some (Shared, longest l'); readers := l' |}.

(* SET NX PX, also of a program that knows no readers; shared_acquire.lua, also as a restore;
   shared_extend.lua as a writer, which upgrades where the lock reads, and as a reader, which
   downgrades where it writes; shared_release.lua, by one token or by two. *)
Inductive event :=
| Write (t : token) (ttl : Z)
| Read (t : token) (ttl : Z)
| Extend_writer (t : token) (ttl : Z) (other : option nat)
| Extend_reader (t : token) (ttl : Z) (other : option nat)
| Release (t : token) (other : option nat)
| Sweep
| Restart (remembered : state)
| Foreign (after : state).

(* The token in the other role. *)
Definition in_role (t : token) (other : nat) : token := {| lock := lock t; digits := other |}.

(* A reader that a waiting writer's hint refuses is no event here: it changes nothing. *)
Definition grants (now : Z) (s : state) (e : event) : bool :=
  match e with
  | Write _ _ => match live_key now s with None => true | Some _ => false end
  | Read _ _ => match live_key now s with Some (Writer _, _) => false | _ => true end
  | Extend_writer t _ other =>
      match live_key now s with
      | None => false
      | Some (Writer v, _) => same v t
      | Some (Shared, _) =>
          match other with
          | None => false
          | Some o =>
              let l := live_readers now (readers s) in
              (now <? score (in_role t o) l) && is_alone (in_role t o) l
          end
      end
  | Extend_reader t _ other =>
      match live_key now s with
      | None => false
      | Some (Shared, _) => now <? score t (readers s)
      | Some (Writer v, _) => match other with None => false | Some o => same v (in_role t o) end
      end
  | _ => false
  end.

Definition names (t : token) (other : option nat) (u : token) : bool :=
  same u t || match other with Some o => same u (in_role t o) | None => false end.
Definition leave (t : token) (other : option nat) (l : list (token * Z)) :=
  filter (fun p => negb (names t other (fst p))) l.

Definition step (now : Z) (s : state) (e : event) : state :=
  match e with
  | Write t ttl =>
      if grants now s e then {| key := Some (Writer t, now + ttl); readers := readers s |} else s
  | Read t ttl =>
      match live_key now s with
      | None => let_in t (Z.max (now + ttl) 0) []
      | Some (Shared, _) =>
          let l := live_readers now (readers s) in let_in t (Z.max (now + ttl) (score t l)) l
      | Some (Writer _, _) => s
      end
  | Extend_writer t ttl other =>
      if grants now s e then
        match live_key now s, other with
        | Some (Writer _, until), _ =>
            {| key := Some (Writer t, Z.max until (now + ttl)); readers := readers s |}
        | Some (Shared, _), Some o =>
            let until := score (in_role t o) (live_readers now (readers s)) in
            {| key := Some (Writer t, Z.max (now + ttl) until); readers := [] |}
        | _, _ => s
        end
      else s
  | Extend_reader t ttl _ =>
      if grants now s e then
        match live_key now s with
        | Some (Shared, _) => let_in t (Z.max (now + ttl) (score t (readers s))) (readers s)
        | Some (Writer _, until) => let_in t (Z.max (now + ttl) until) []
        | None => s
        end
      else s
  | Release t other =>
      match live_key now s with
      | Some (Writer v, _) => if names t other v then {| key := None; readers := readers s |} else s
      | Some (Shared, _) =>
          if existsb (fun p => names t other (fst p)) (readers s) then
            match live_readers now (leave t other (readers s)) with
            | [] => {| key := None; readers := [] |}
            | l => {| key := Some (Shared, longest l); readers := l |}
            end
          else s
      | None => s
      end
  | Sweep => {| key := live_key now s; readers := live_readers now (readers s) |}
  | Restart kept => kept
  | Foreign after => after
  end.

Record node := { clock : Z -> Z; first : state; at_time : nat -> Z; does : nat -> event }.

Fixpoint before (n : node) (k : nat) : state :=
  match k with O => first n | S k => step (clock n (at_time n k)) (before n k) (does n k) end.
Definition reads (n : node) (k : nat) : Z := clock n (at_time n k).
Definition granted (n : node) (k : nat) : Prop := grants (reads n k) (before n k) (does n k) = true.

Lemma before_S n k : before n (S k) = step (reads n k) (before n k) (does n k).
Proof. reflexivity. Qed.

(* ---- What a node promises ---- *)

(* A lock holds the key, as a reader or as a writer, until then. *)
Definition lock_stands (s : state) (l : nat) (until : Z) : Prop :=
  exists v e, key s = Some (v, e) /\ until <= e /\
    match v with Writer t => lock t = l | Shared => exists t e', In (t, e') (readers s) /\
      lock t = l /\ until <= e' end.

Definition writer_stands (s : state) (t : token) (until : Z) : Prop := exists e,
  key s = Some (Writer t, e) /\ until <= e.

Lemma longest_is_longest t e l : In (t, e) l -> e <= longest l.
Proof. induction l as [|p l IH]; simpl; [tauto|]. intros [->|H]; [simpl; lia|specialize (IH H);
  lia]. Qed.

Lemma score_is_largest t e l : In (t, e) l -> e <= score t l.
Proof.
  intro H. apply (longest_is_longest t). apply filter_In. split; [assumption|]. simpl.
  destruct (same_spec t t); congruence.
Qed.

Lemma stays_live t e now l : In (t, e) l -> now < e -> In (t, e) (live_readers now l).
Proof. intros H Hn. apply filter_In. split; [assumption|]. simpl. apply Z.ltb_lt. assumption. Qed.

(* Whoever is admitted takes nothing from a reader. *)
Lemma let_in_keeps t until l t' e' :
  In (t', e') l -> (t' = t -> e' <= until) -> lock_stands (let_in t until l) (lock t') e'.
Proof.
  intros H Hu. unfold lock_stands, let_in. simpl.
  destruct (same_spec t' t) as [->|Hne].
  - specialize (Hu eq_refl). eexists _, _. split; [reflexivity|]. split; [lia|]. exists t, until.
  repeat split; [left; reflexivity|lia].
  - assert (Hin : In (t', e') (without t l)).
    { apply filter_In. split; [assumption|]. simpl. destruct (same_spec t' t);
      [congruence|reflexivity]. }
    eexists _, _. split; [reflexivity|]. split.
    + pose proof (longest_is_longest t' e' _ Hin). lia.
    + exists t', e'. repeat split; [right; assumption|lia].
Qed.

Lemma let_in_gives t until l : lock_stands (let_in t until l) (lock t) until.
Proof.
  unfold lock_stands, let_in. simpl. eexists _, _. split; [reflexivity|]. split; [lia|].
  exists t, until. repeat split; [left; reflexivity|lia].
Qed.

Lemma lock_stands_shorter s l until until' : lock_stands s l until -> until' <= until ->
  lock_stands s l until'.
Proof.
  intros [v [e [Hk [He Hv]]]] Hle. exists v, e. split; [assumption|]. split; [lia|].
  destruct v; [assumption|]. destruct Hv as [t [e' [Hin [Hl He']]]]. exists t, e'.
  repeat split; [assumption|assumption|lia].
Qed.

Lemma standing_lock_is_live now s l until :
  lock_stands s l until -> now < until ->
  exists v e, live_key now s = Some (v, e) /\ until <= e /\
    match v with Writer t => lock t = l | Shared => exists t e', In (t, e') (readers s) /\
      lock t = l /\ until <= e' end.
Proof.
  intros [v [e [Hk [He Hv]]]] Hn. exists v, e. split; [|auto].
  unfold live_key. rewrite Hk. destruct (Z.ltb_spec now e); [reflexivity|lia].
Qed.

Definition keeps_memory (e : event) : Prop := match e with Restart _ | Foreign _ => False | _ =>
  True end.
Definition releases_lock (e : event) (l : nat) : Prop := exists t other, e = Release t other /\
  lock t = l.

Lemma in_role_lock t o : lock (in_role t o) = lock t.
Proof. reflexivity. Qed.

Lemma names_one_lock t other u : names t other u = true -> lock u = lock t.
Proof.
  unfold names. intro H. apply orb_true_iff in H. destruct H as [H|H].
  - destruct (same_spec u t); congruence.
  - destruct other as [o|]; [|discriminate]. destruct (same_spec u (in_role t o)) as [E|].
    + rewrite E. reflexivity.
    + discriminate.
Qed.

(* No command of another lock takes a lock's key away before it ends: not a reader's, and not a
   writer's. *)
Lemma step_keeps_lock now s e l until :
  lock_stands s l until -> now < until -> keeps_memory e -> ~ releases_lock e l ->
    lock_stands (step now s e) l until.
Proof.
  intros Hs Hn Hm Hr. destruct (standing_lock_is_live now s l until Hs Hn) as [v [e0 [Hl [He Hv]]]].
  destruct e as [t ttl|t ttl|t ttl other|t ttl other|t other| |kept|after]; unfold step, grants;
    rewrite ?Hl; cbv beta iota; simpl in Hm; try contradiction.
  - assumption.
  - destruct v as [t'|]; [assumption|]. destruct Hv as [t' [e' [Hin [<- He']]]].
    apply (lock_stands_shorter _ _ e'); [|assumption]. apply let_in_keeps; [apply stays_live;
      [assumption|lia]|].
    intros ->. assert (In (t, e') (live_readers now (readers s))) as Hlive
      by (apply stays_live; [assumption|lia]). pose proof (score_is_largest _ _ _ Hlive). lia.
  - destruct v as [t'|].
    + destruct (same_spec t' t) as [->|]; [|assumption]. exists (Writer t), (Z.max e0 (now + ttl)).
    simpl. repeat split; [lia|assumption].
    + destruct other as [o|]; [|assumption]. destruct Hv as [t' [e' [Hin [<- He']]]].
      destruct ((now <? score (in_role t o) (live_readers now (readers s))) &&
                is_alone (in_role t o) (live_readers now (readers s))) eqn:E; [|assumption].
      apply andb_true_iff in E. destruct E as [_ E]. unfold is_alone in E.
      rewrite forallb_forall in E.
      pose proof (stays_live t' e' now (readers s) Hin ltac:(lia)) as Hlive.
      specialize (E _ Hlive). simpl in E. destruct (same_spec t' (in_role t o)) as [->|];
        [|discriminate].
      pose proof (score_is_largest _ _ _ Hlive). eexists _, _. simpl. split; [reflexivity|].
      split; [lia|reflexivity].
  - destruct v as [t'|].
    + destruct other as [o|]; [|assumption]. destruct (same_spec t' (in_role t o)) as [->|];
      [|assumption].
      apply (lock_stands_shorter _ _ (Z.max (now + ttl) e0)); [|lia]. rewrite <- Hv.
      rewrite in_role_lock. apply let_in_gives.
    + destruct Hv as [t' [e' [Hin [<- He']]]]. destruct (now <? score t (readers s)); [|assumption].
      apply (lock_stands_shorter _ _ e'); [|assumption]. apply let_in_keeps; [assumption|].
      intros ->. pose proof (score_is_largest t e' _ Hin). lia.
  - destruct v as [t'|].
    + destruct (names t other t') eqn:E; [|assumption]. exfalso. apply Hr. exists t, other.
    split; [reflexivity|].
      apply names_one_lock in E. congruence.
    + destruct Hv as [t' [e' [Hin [<- He']]]]. destruct (existsb _ (readers s)); [|assumption].
      assert (Hleft : In (t', e') (live_readers now (leave t other (readers s)))).
      { apply stays_live; [|lia]. apply filter_In. split; [assumption|]. simpl.
      destruct (names t other t') eqn:E; [|reflexivity].
        exfalso. apply Hr. exists t, other. split; [reflexivity|]. apply names_one_lock in E.
        congruence. }
      destruct (live_readers now (leave t other (readers s))) as [|p r] eqn:Er; [destruct Hleft|].
      exists Shared, (longest (p :: r)). split; [reflexivity|]. split.
      * pose proof (longest_is_longest t' e' _ Hleft). lia.
      * exists t', e'. auto.
  - exists v, e0. simpl. split; [reflexivity|]. split; [assumption|].
    destruct v as [t'|]; [assumption|]. destruct Hv as [t' [e' [Hin [<- He']]]].
    exists t', e'. split; [apply stays_live; [assumption|lia]|auto].
Qed.

(* A writer stays one until it is released, or becomes a reader of its own will. *)
Definition steps_down (e : event) (t : token) : Prop :=
  (exists u other, e = Release u other /\ names u other t = true) \/
  (exists u ttl o, e = Extend_reader u ttl (Some o) /\ t = in_role u o).

Lemma step_keeps_writer now s e t until :
  writer_stands s t until -> now < until -> keeps_memory e -> ~ steps_down e t ->
    writer_stands (step now s e) t until.
Proof.
  intros [e0 [Hk He]] Hn Hm Hr. assert (Hl : live_key now s = Some (Writer t, e0)).
  { unfold live_key. rewrite Hk. destruct (Z.ltb_spec now e0); [reflexivity|lia]. }
  assert (Hs : writer_stands s t until) by (exists e0; auto).
  destruct e as [t' ttl|t' ttl|t' ttl other|t' ttl other|t' other| |kept|after];
    unfold step, grants; rewrite ?Hl; cbv beta iota; simpl in Hm; try contradiction; try assumption.
  - destruct (same_spec t t') as [<-|]; [|assumption]. eexists. split; [reflexivity|]. lia.
  - destruct other as [o|]; [|assumption]. destruct (same_spec t (in_role t' o)) as [->|];
    [|assumption].
    exfalso. apply Hr. right. exists t', ttl, o. auto.
  - destruct (names t' other t) eqn:E; [|assumption]. exfalso. apply Hr. left. exists t', other.
  auto.
  - exists e0. auto.
Qed.

(* ---- The kind ---- *)

(* A lock claims to be a reader at least, a token to be a writer. *)
Inductive claims := Reads (l : nat) | Writes (t : token).

Definition lock_of (c : claims) : nat := match c with Reads l => l | Writes t => lock t end.
Definition is_writer (c : claims) : Prop := match c with Reads _ => False | Writes _ => True end.

Definition for_reader (e : event) (t : token) (ttl : Z) : Prop :=
  e = Read t ttl \/ exists other, e = Extend_reader t ttl other.
Definition for_writer (e : event) (t : token) (ttl : Z) : Prop :=
  e = Write t ttl \/ exists other, e = Extend_writer t ttl other.

(* Whoever is a writer has what a reader has. *)
Definition gives_claim (e : event) (c : claims) (ttl : Z) : Prop :=
  match c with
  | Reads l => exists t, lock t = l /\ (for_reader e t ttl \/ for_writer e t ttl)
  | Writes t => for_writer e t ttl
  end.

Definition stands (s : state) (c : claims) (until : Z) : Prop :=
  match c with Reads l => lock_stands s l until | Writes t => writer_stands s t until end.
Definition gives_up (e : event) (c : claims) : Prop :=
  match c with Reads l => releases_lock e l | Writes t => steps_down e t end.

Lemma writer_stands_as_lock s t until : writer_stands s t until -> lock_stands s (lock t) until.
Proof. intros [e [Hk He]]. exists (Writer t), e. auto. Qed.

Lemma grant_for_writer now s e t ttl : for_writer e t ttl -> grants now s e = true ->
  writer_stands (step now s e) t (now + ttl).
Proof.
  intros [->|[other ->]] H; unfold step; rewrite H.
  - eexists. split; [reflexivity|]. lia.
  - unfold grants in H. destruct (live_key now s) as [[[v|] e]|]; [| |discriminate].
    + eexists. split; [reflexivity|]. lia.
    + destruct other; [|discriminate]. eexists. split; [reflexivity|]. lia.
Qed.

Lemma grant_for_reader now s e t ttl : for_reader e t ttl -> grants now s e = true ->
  lock_stands (step now s e) (lock t) (now + ttl).
Proof.
  intros [->|[other ->]] H; unfold step, grants in *.
  - destruct (live_key now s) as [[[v|] e]|]; try discriminate; eapply lock_stands_shorter;
    try apply let_in_gives; lia.
  - rewrite H. destruct (live_key now s) as [[[v|] e]|]; [| |discriminate];
    eapply lock_stands_shorter; try apply let_in_gives; lia.
Qed.

Lemma grant_stands now s e c ttl : gives_claim e c ttl -> grants now s e = true ->
  stands (step now s e) c (now + ttl).
Proof.
  intros Hg H. destruct c as [l|t]; simpl in *.
  - destruct Hg as [t [<- [Hg|Hg]]]; [apply grant_for_reader; assumption|].
    apply writer_stands_as_lock, grant_for_writer; assumption.
  - apply grant_for_writer; assumption.
Qed.

Lemma node_keeps_claim n i j c ttl :
  gives_claim (does n i) c ttl -> granted n i -> (i < j)%nat ->
  (forall k, (i < k < j)%nat -> keeps_memory (does n k) /\ ~ gives_up (does n k) c /\
    reads n k < reads n i + ttl) ->
  stands (before n j) c (reads n i + ttl).
Proof.
  intros Ht Hg Hij. induction Hij as [|j Hij IH]; intros H; rewrite before_S; [apply grant_stands;
    assumption|].
  destruct (H j) as [Hm [Hr Hn]]; [lia|]. assert (Hs : stands (before n j) c (reads n i + ttl))
    by (apply IH; intros; apply H; lia).
  destruct c as [l|t]; simpl in *; [apply step_keeps_lock|apply step_keeps_writer]; assumption.
Qed.

(* While a claim stands, a rival gets nothing. *)
Lemma rival_is_refused now s e a b until ttl :
  stands s a until -> now < until -> lock_of a <> lock_of b -> is_writer a \/ is_writer b ->
  gives_claim e b ttl -> grants now s e = false.
Proof.
  intros Hs Hn Hne Hw Hb.
  assert (Hlock : lock_stands s (lock_of a) until) by (destruct a; [|apply writer_stands_as_lock];
    exact Hs).
  destruct (standing_lock_is_live now s _ until Hlock Hn) as [v [e0 [Hl [He Hv]]]].
  assert (W : forall t, lock t = lock_of b -> for_writer e t ttl -> grants now s e = false).
  { intros t Ht [->|[other ->]]; unfold grants; rewrite Hl; [destruct v; reflexivity|].
    destruct v as [u|]; [destruct (same_spec u t); [congruence|reflexivity]|].
    destruct other as [o|]; [|reflexivity]. destruct Hv as [u [e' [Hin [Hu He']]]].
    apply andb_false_iff. right.
    destruct (is_alone _ _) eqn:E; [|reflexivity]. unfold is_alone in E.
    rewrite forallb_forall in E.
    specialize (E _ (stays_live u e' now (readers s) Hin ltac:(lia))). simpl in E.
    destruct (same_spec u (in_role t o)) as [->|]; [rewrite in_role_lock in Hu;
      congruence|discriminate]. }
  destruct b as [l|t]; simpl in *; [|apply (W t); auto].
  destruct Hb as [t [Ht [Hb|Hb]]]; [|apply (W t); auto].
  destruct Hw as [Hw|[]]. destruct a as [|ta]; [destruct Hw|]. destruct Hs as [ea [Hk Hea]].
  assert (Hl' : live_key now s = Some (Writer ta, ea)).
  { unfold live_key. rewrite Hk. destruct (Z.ltb_spec now ea); [reflexivity|lia]. }
  destruct Hb as [->|[other ->]]; unfold grants; rewrite Hl'; [reflexivity|].
  destruct other as [o|]; [|reflexivity]. destruct (same_spec ta (in_role t o)) as [->|];
    [|reflexivity].
  rewrite <- Ht in Hne. simpl in Hne. congruence.
Qed.

(* Rivals are two locks of which one is a writer. *)
Definition shared : kind := {|
  history := node; claim := claims; clock_of := clock; time_of := at_time;
  gives := fun n k c ttl => gives_claim (does n k) c ttl /\ granted n k;
  takes_back := fun n k c => gives_up (does n k) c;
  restarts := fun n k => exists remembered, does n k = Restart remembered;
  is_disturbed := fun n k => exists after, does n k = Foreign after;
  rivals := fun a b => lock_of a <> lock_of b /\ (is_writer a \/ is_writer b)
|}.

Lemma given_to_one_lock e a b ttl ttl' : gives_claim e a ttl -> gives_claim e b ttl' ->
  lock_of a = lock_of b.
Proof.
  assert (T : forall c t, gives_claim e c t -> exists u, lock u = lock_of c /\
    (for_reader e u t \/ for_writer e u t)).
  { intros [l|u] t H; simpl in *; [assumption|eauto]. }
  intros Ha Hb. destruct (T _ _ Ha) as [u [<- Hu]]. destruct (T _ _ Hb) as [v [<- Hv]].
  unfold for_reader, for_writer in *.
  destruct Hu as [[Hu|[o Hu]]|[Hu|[o Hu]]], Hv as [[Hv|[p Hv]]|[Hv|[p Hv]]]; rewrite Hu in Hv;
    inversion Hv; reflexivity.
Qed.

Theorem shared_is_sound : sound shared.
Proof.
  split; [intros a b; simpl; intuition auto|]. split.
  - intros n k a b ttl ttl' [Ga _] [Gb _] [Hne _]. exact (Hne (given_to_one_lock _ _ _ _ _ Ga Gb)).
  - intros n i j a b ttl ttl' [Ti Gi] [Tj Gj] Hij [Hne Hw] H Hn. simpl in *.
    assert (Hs : stands (before n j) a (reads n i + ttl)).
    { apply node_keeps_claim; try assumption. intros k Hk. destruct (H k Hk) as [Hr [Hf Hb]].
      split; [|split; [assumption|apply Hn; lia]].
      destruct (does n k) eqn:E; simpl; try exact I; [apply Hr|apply Hf]; eauto. }
    unfold granted in Gj. rewrite (rival_is_refused (reads n j) _ _ a b
      (reads n i + ttl) ttl' Hs) in Gj; auto; [discriminate|].
    apply Hn. lia.
Qed.

(* S21: at any time a writer is the only holder. *)
Theorem writer_is_alone (w : world shared) t c now :
  in_order w -> clocks_run_right w [] -> undisturbed w [] -> releases_are_own w [] ->
  held w [] (quorum_of (node_count w)) (Writes t) now ->
    held w [] (quorum_of (node_count w)) c now -> lock_of c = lock t.
Proof.
  intros Ho Hc Hu Hr Ha Hb. destruct (Nat.eq_dec (lock_of c) (lock t)) as [|Hne];
    [assumption|exfalso].
  apply (redlock_excludes shared w (Writes t) c now shared_is_sound Ho Hc Hu Hr Ha Hb). simpl. auto.
Qed.

(* S22: a lock that is a reader by a round is one for all of that round's validity, whether or not
   it asks to become a writer meanwhile, and even if the upgrade reaches some nodes only. So no
   writer gets in between: an upgrade leaves no gap. *)
Theorem change_of_role_leaves_no_gap (w : world shared) r s now last t :
  in_order w -> clocks_run_right w [] -> undisturbed w [] -> releases_are_own w [] ->
  let q := quorum_of (node_count w) in
  goes_forward (client_clocks w (client r)) -> goes_forward (client_clocks w (client s)) ->
  won w [] q r -> won w [] q s -> signed r = Reads (lock t) -> signed s = Reads (lock t) ->
  promises w r (decided s) -> promises w s last -> decided r <= now <= last ->
  forall writer, held w [] q (Writes writer) now -> lock writer = lock t.
Proof.
  intros Ho Hc Hu Hr q Cr Cs Wr Ws Er Es Pr Ps Hn writer Hw.
  assert (Hq : (node_count w + length (@nil nat) < 2 * q)%nat).
  { unfold q. pose proof (quorum_is_a_majority (node_count w)). simpl. lia. }
  destruct (extension_leaves_no_gap w [] q shared_is_sound Ho Hc Hu Hr Hq r s now last
    (Writes writer)) as [_ H]; try assumption.
  - congruence.
  - specialize (H Hw). rewrite Er in H. simpl in H. destruct (Nat.eq_dec (lock writer) (lock t));
    [assumption|].
    exfalso. apply H. auto.
Qed.
