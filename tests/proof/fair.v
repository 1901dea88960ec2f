(* Strict order (S24): a node takes a key back from a client that polls again and is not the first
   any longer. So a poll that is executed late must not give away what a later round has counted.
   Who is the first is left open here: at each poll the queue may say either. *)
From Coq Require Import List ZArith Lia Bool.
From redlock Require Import clocks quorum exclusion.
Import ListNotations.
Open Scope Z_scope.

Definition token := nat.
Definition last_round := 9007199254740991.

(* "resource#grant" is the round in which the key was granted. *)
Record state := { key : option (token * Z); grant : option (Z * Z) }.

(* Unheard: its ticket is too small, say, and nothing is done. *)
Inductive place := First | Behind | Unheard.

Inductive event :=
| Poll (t : token) (ttl round : Z) (p : place)  (* fair_acquire.lua *)
| Extend (t : token) (ttl : Z)                  (* fair_extend.lua *)
| Restore (t : token) (ttl : Z)                 (* fair_restore.lua *)
| Release (t : token)                           (* fair_release.lua *)
| Take (t : token) (ttl : Z)                    (* SET NX PX of a stranger *)
| Sweep
| Restart (remembered : state)
| Foreign (after : state).

Definition live {A} (now : Z) (x : option (A * Z)) : option (A * Z) :=
  match x with Some (a, e) => if now <? e then Some (a, e) else None | None => None end.

Definition is_mine (now : Z) (s : state) (t : token) : bool :=
  match live now (key s) with Some (v, _) => Nat.eqb v t | None => false end.
Definition granted_in (now : Z) (s : state) : Z :=
  match live now (grant s) with Some (g, _) => g | None => last_round end.

(* S24: "a poll of an older round than that changes nothing". *)
Definition is_old (now : Z) (s : state) (t : token) (round : Z) : bool :=
  is_mine now s t && (round <? granted_in now s).

Definition grants (now : Z) (s : state) (e : event) : bool :=
  match e with
  | Poll t _ round First =>
      negb (is_old now s t round) &&
      match live now (key s) with None => true | Some (v, _) => Nat.eqb v t end
  | Extend t _ =>
      is_mine now s t && match live now (grant s) with None => false | Some _ => true end
  | Take _ _ => match live now (key s) with None => true | Some _ => false end
  | _ => false
  end.

Definition until (now : Z) (s : state) (ttl : Z) : Z :=
  match live now (key s) with Some (_, e) => Z.max e (now + ttl) | None => now + ttl end.
Definition give (now : Z) (s : state) (t : token) (ttl round : Z) : state :=
  {| key := Some (t, until now s ttl); grant := Some (round, until now s ttl) |}.

Definition step (now : Z) (s : state) (e : event) : state :=
  match e with
  | Poll t ttl round p =>
      if grants now s e then give now s t ttl round
      else match p with
           | Behind =>
               if is_mine now s t && negb (is_old now s t round)
               then {| key := None; grant := None |} else s
           | _ => s
           end
  | Extend t ttl => if grants now s e then give now s t ttl last_round else s
  | Restore t ttl =>
      match live now (key s) with
      | Some (v, _) => if Nat.eqb v t then give now s t ttl last_round else s
      | None => give now s t ttl last_round
      end
  | Release t => if is_mine now s t then {| key := None; grant := None |} else s
  | Take t ttl => if grants now s e then {| key := Some (t, now + ttl); grant := grant s |} else s
  | Sweep => {| key := live now (key s); grant := live now (grant s) |}
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

(* A claim is a token, and the round whose polls were counted; an extension is of the last round
   that there may be. A stranger's plain lock has no rounds, and no fair token. *)
Inductive claims := Fair (t : token) (round : Z) | Plain (t : token).
Definition token_of (c : claims) : token := match c with Fair t _ => t | Plain t => t end.

(* S8: each round polls a node once, and forgets the grants of the last. *)
Definition polled_once (n : node) (i : nat) (t : token) (round : Z) : Prop :=
  forall k ttl p, does n k = Poll t ttl round p -> k = i.

Definition gives_claim (n : node) (i : nat) (c : claims) (ttl : Z) : Prop :=
  match c with
  | Fair t round => (does n i = Poll t ttl round First /\ polled_once n i t round /\
    round < last_round) \/
                    (does n i = Extend t ttl /\ round = last_round)
  | Plain t => does n i = Take t ttl
  end.

(* A holder polls no longer: a later round than the one that it counts is like a release. Rounds
   before it may be executed at any time. A stranger never polls, and no round is the last one. *)
Definition gives_up (e : event) (c : claims) : Prop :=
  e = Release (token_of c) \/
  match c with
  | Fair t round => exists ttl round' p, e = Poll t ttl round' p /\
    (round < round' \/ last_round <= round')
  | Plain t => exists ttl round' p, e = Poll t ttl round' p
  end.

Definition stands (s : state) (c : claims) (end_ : Z) : Prop :=
  (exists e, key s = Some (token_of c, e) /\ end_ <= e) /\
  match c with Fair _ round => exists g e, grant s = Some (g, e) /\ round <= g /\
    end_ <= e | Plain _ => True end.

Definition keeps_memory (e : event) : Prop := match e with Restart _ | Foreign _ => False | _ =>
  True end.

Lemma live_standing {A} now (x : option (A * Z)) a e : x = Some (a, e) -> now < e ->
  live now x = Some (a, e).
Proof. intros -> H. simpl. destruct (Z.ltb_spec now e); [reflexivity|lia]. Qed.

Lemma give_stands now s c ttl round end_ :
  end_ <= until now s ttl -> match c with Fair _ r => r <= round | Plain _ => True end ->
  stands (give now s (token_of c) ttl round) c end_.
Proof.
  intros H Hr. split; [eexists; split; [reflexivity|assumption]|].
  destruct c; [|exact I]. eexists _, _. split; [reflexivity|]. split; assumption.
Qed.

Lemma step_keeps_claim now s e c end_ :
  stands s c end_ -> now < end_ -> keeps_memory e -> ~ gives_up e c ->
  match c with Fair t round => round <= last_round /\ forall ttl p,
    e <> Poll t ttl round p | Plain _ => True end ->
  stands (step now s e) c end_.
Proof.
  intros Hs Hn Hm Hr Hc. pose proof Hs as [[k [Hk He]] Hg].
  pose proof (live_standing now _ _ _ Hk ltac:(lia)) as Hl.
  assert (Hmine : forall t, is_mine now s t = Nat.eqb (token_of c) t) by (intro; unfold is_mine;
    rewrite Hl; reflexivity).
  assert (Huntil : forall ttl, end_ <= until now s ttl) by (intro; unfold until; rewrite Hl; lia).
  assert (Hgive : forall t ttl, token_of c = t -> stands (give now s t ttl last_round) c end_).
  { intros t ttl <-. apply give_stands; [apply Huntil|]. destruct c; [tauto|exact I]. }
  destruct e as [t ttl round p|t ttl|t ttl|t|t ttl| |kept|after]; unfold step; simpl in Hm;
    try contradiction.
  - destruct (Nat.eqb_spec (token_of c) t) as [<-|Hne].
    + (* Our own poll is one of an older round. *)
      destruct c as [t r|t]; [|exfalso; apply Hr; right; exists ttl, round, p; reflexivity].
      simpl in *. destruct Hg as [g [ge [Eg [Hrg Hge]]]]. destruct Hc as [_ Hc].
      assert (round < r).
      { destruct (Z.lt_trichotomy round r) as [|[->|H]]; [assumption|exfalso; eapply Hc;
        reflexivity|].
        exfalso. apply Hr. right. exists ttl, round, p. split; [reflexivity|left; lia]. }
      assert (Hold : is_old now s t round = true).
      { unfold is_old, granted_in. rewrite Hmine, Nat.eqb_refl, (live_standing now _ _ _ Eg) by lia.
      simpl. apply Z.ltb_lt. lia. }
      destruct p; unfold grants; rewrite ?Hold; simpl; try assumption. rewrite andb_false_r.
      assumption.
    + assert (Hf : is_mine now s t = false) by (rewrite Hmine; apply Nat.eqb_neq; assumption).
      destruct p; unfold grants; rewrite ?Hl, ?Hf; simpl; try assumption.
      rewrite (proj2 (Nat.eqb_neq _ _) Hne), andb_false_r. assumption.
  - unfold grants. rewrite Hmine. destruct (Nat.eqb_spec (token_of c) t); simpl; [|assumption].
    destruct (live now (grant s)); [apply Hgive; assumption|assumption].
  - rewrite Hl. destruct (Nat.eqb_spec (token_of c) t); [apply Hgive; assumption|assumption].
  - rewrite Hmine. destruct (Nat.eqb_spec (token_of c) t) as [<-|]; [|assumption]. exfalso.
  apply Hr. left. reflexivity.
  - unfold grants. rewrite Hl. assumption.
  - split; simpl.
    + rewrite Hl. exists k. auto.
    + destruct c; [|exact I]. destruct Hg as [g [ge [Eg [Hrg Hge]]]].
    rewrite (live_standing now _ _ _ Eg) by lia. exists g, ge. auto.
Qed.

Lemma grant_stands n i c ttl : gives_claim n i c ttl -> granted n i ->
  stands (before n (S i)) c (reads n i + ttl).
Proof.
  intros Hc Hg. rewrite before_S. unfold granted in Hg.
  assert (Hu : reads n i + ttl <= until (reads n i) (before n i) ttl) by (unfold until;
    destruct (live _ _) as [[? ?]|]; lia).
  destruct c as [t round|t]; simpl in Hc.
  - destruct Hc as [[E _]|[E ->]]; rewrite E in *; unfold step; rewrite Hg;
    apply (give_stands _ _ (Fair t _)); simpl; lia.
  - rewrite E in * || rewrite Hc in *. unfold step. rewrite Hg. split; [|exact I]. simpl. eexists.
  split; [reflexivity|]. lia.
Qed.

Lemma node_keeps_claim n i j c ttl :
  gives_claim n i c ttl -> granted n i -> (i < j)%nat ->
  (forall k, (i < k < j)%nat -> keeps_memory (does n k) /\ ~ gives_up (does n k) c /\
    reads n k < reads n i + ttl) ->
  stands (before n j) c (reads n i + ttl).
Proof.
  intros Hc Hg Hij. induction Hij as [|j Hij IH]; intros H; [apply grant_stands; assumption|].
  rewrite before_S. destruct (H j) as [Hm [Hr Hn]]; [lia|]. apply step_keeps_claim; try assumption.
  - apply IH. intros k Hk. apply H. lia.
  - destruct c as [t round|t]; [|exact I]. simpl in Hc. destruct Hc as [[E [Ho Hl]]|[E ->]].
    + split; [lia|]. intros ttl' p E'. specialize (Ho j ttl' p E'). lia.
    + split; [lia|]. intros ttl' p E'. apply Hr. right. exists ttl', last_round, p.
    split; [assumption|right; lia].
Qed.

(* While a claim stands, another token gets nothing. *)
Lemma rival_is_refused n j a b end_ ttl :
  stands (before n j) a end_ -> reads n j < end_ -> token_of a <> token_of b ->
    gives_claim n j b ttl -> ~ granted n j.
Proof.
  intros [[e [Hk He]] _] Hn Hne Hb Hg. pose proof (live_standing
    (reads n j) _ _ _ Hk ltac:(lia)) as Hl.
  assert (Hf : Nat.eqb (token_of a) (token_of b) = false) by (apply Nat.eqb_neq; assumption).
  unfold granted in Hg. destruct b as [t round|t]; simpl in *.
  - destruct Hb as [[E _]|[E _]]; rewrite E in Hg; unfold grants in Hg.
    + rewrite Hl, Hf, andb_false_r in Hg. discriminate.
    + unfold is_mine in Hg. rewrite Hl, Hf in Hg. discriminate.
  - rewrite Hb in Hg. unfold grants in Hg. rewrite Hl in Hg. discriminate.
Qed.

Definition fair : kind := {|
  history := node; claim := claims; clock_of := clock; time_of := at_time;
  gives := fun n k c ttl => gives_claim n k c ttl /\ granted n k;
  takes_back := fun n k c => gives_up (does n k) c;
  restarts := fun n k => exists remembered, does n k = Restart remembered;
  is_disturbed := fun n k => exists after, does n k = Foreign after;
  rivals := fun a b => token_of a <> token_of b
|}.

Theorem fair_is_sound : sound fair.
Proof.
  split; [intros a b; simpl; auto|]. split.
  - intros n k a b ttl ttl' [Ga _] [Gb _] Hne. apply Hne. destruct a, b; simpl in *;
      repeat match goal with H : _ \/ _ |- _ => destruct H as [H|H] | H : _ /\
        _ |- _ => destruct H end; congruence.
  - intros n i j a b ttl ttl' [Ti Gi] [Tj Gj] Hij Hne H Hn. simpl in *.
    apply (rival_is_refused n j a b (reads n i + ttl) ttl'); try assumption; [|apply Hn; lia].
    apply node_keeps_claim; try assumption. intros k Hk. destruct (H k Hk) as [Hr [Hf Hb]].
    split; [|split; [assumption|apply Hn; lia]].
    destruct (does n k) eqn:E; simpl; try exact I; [apply Hr|apply Hf]; eauto.
Qed.

(* S24: whatever the queues say, and however late polls are executed, at most one token is held. *)
Theorem fair_excludes (w : world fair) a b now :
  in_order w -> clocks_run_right w [] -> undisturbed w [] -> releases_are_own w [] ->
  held w [] (quorum_of (node_count w)) a now -> held w [] (quorum_of (node_count w)) b now ->
    token_of a = token_of b.
Proof.
  intros Ho Hc Hu Hr Ha Hb. destruct (Nat.eq_dec (token_of a) (token_of b)) as [|Hne];
    [assumption|exfalso].
  exact (redlock_excludes fair w a b now fair_is_sound Ho Hc Hu Hr Ha Hb Hne).
Qed.

(* Without the round number: a poll of round 1 comes after the one of round 2 that was counted,
   finds another first, and gives the key away. *)
Theorem late_poll_changes_nothing :
  let s := step 2 {| key := None; grant := None |} (Poll 1%nat 10 2 First) in
  step 3 s (Poll 1%nat 10 1 Behind) = s /\
  key (step 3 {| key := key s; grant := Some (1, 12) |} (Poll 1%nat 10 1 Behind)) = None.
Proof. split; reflexivity. Qed.
